"""The wire facts of Kubernetes' API types, read on first need from protobuf.table (written by tools/protobuf).

protobuf.py decodes by them, canonical.py writes by them. A message's line is parsed when the first one is met.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import resources

SCALARS = frozenset(
    {"string", "int", "bool", "bytes", "double", "quantity", "time", "microtime", "intorstring", "raw", "strings"}
    | {"duration"}
)


class Shape(Enum):
    ONE = 1
    LIST = 2
    MAP = 3
    INLINE = 4


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message: its JSON name, and a scalar kind or the name of a message."""

    name: str
    kind: str
    shape: Shape
    pointer: bool  # absent and zero are different things
    always: bool  # written even when zero

    @property
    def keeps_zero(self) -> bool:
        return self.pointer or self.always


def message_of(api_version: str, kind: str) -> str | None:
    """The message behind a kind, or None where protobuf is not understood."""
    kinds = _table()[0]
    return kinds.get((api_version, kind)) or kinds.get(("*", kind))


@cache
def fields_of(message: str) -> dict[int, Field]:
    """The fields of a message by number."""
    return {int(number): _field(name, kind) for number, name, kind in _words(_table()[1][message])}


def is_choice(message: str) -> bool:
    """Whether one of the message's fields stands for it in JSON (a schema or a list of schemas)."""
    fields = () if message in SCALARS else fields_of(message).values()
    return bool(fields) and not any(field.name or field.shape is Shape.INLINE for field in fields)


def kinds() -> list[tuple[str, str]]:
    """Every (apiVersion, kind) that can be read; "*" stands for any group."""
    return sorted(_table()[0])


@cache
def _table() -> tuple[dict[tuple[str, str], str], dict[str, str]]:
    text = resources.files(__package__).joinpath("protobuf.table").read_text("ascii")
    head, _, body = text.partition("\n\n")
    named = (line.split(" ") for line in head.splitlines())
    messages = (line.partition(" ") for line in body.splitlines())
    return {(version, kind): message for version, kind, message in named}, {name: rest for name, _, rest in messages}


def _words(line: str) -> list[list[str]]:
    return [word.split(":", 2) for word in line.split(" ") if word]


def _field(name: str, kind: str) -> Field:
    always = kind.startswith("!")
    pointer = kind.removeprefix("!").startswith("*")
    kind = kind.lstrip("*!")
    shape = Shape.ONE
    for prefix, candidate in (("[]", Shape.LIST), ("{}", Shape.MAP), ("~", Shape.INLINE)):
        if kind.startswith(prefix):
            shape, kind = candidate, kind.removeprefix(prefix).lstrip("*")
    return Field(name, kind, shape, pointer, always)
