"""Arguments of plugins: types as upstream reads them, and a word about everything that has no effect."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from volcano.scheduler.framework.arguments import decode


class Arguments(msgspec.Struct, frozen=True):
    prefixes: ClassVar[tuple[str, ...]] = ("pack.resources.",)
    weight: int = msgspec.field(default=1, name="pack.weight")
    factor: float = 1.5
    on: bool = True
    names: str = ""
    rest: dict[str, object] = msgspec.field(default_factory=dict)


def test_values_of_the_right_types() -> None:
    decoded, warnings = decode(
        Arguments, {"pack.weight": 3, "factor": 2, "on": "F", "names": "a,b", "pack.resources.gpu": 5}, "pack"
    )

    assert decoded == Arguments(weight=3, factor=2.0, on=False, names="a,b", rest={"pack.resources.gpu": 5})
    assert warnings == []


def test_wrong_types_keep_the_default_and_are_told() -> None:
    decoded, warnings = decode(Arguments, {"pack.weight": "3", "factor": "x", "on": "perhaps", "names": 4}, "pack")

    assert decoded == Arguments()
    assert len(warnings) == 4


def test_an_unknown_key_is_told_with_a_suggestion() -> None:
    _, warnings = decode(Arguments, {"pack.wieght": 3}, "plugin 'pack'")

    assert warnings == [
        "plugin 'pack': argument 'pack.wieght' is not known and has no effect: did you mean 'pack.weight'?"
    ]
