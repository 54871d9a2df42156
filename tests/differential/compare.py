"""Two records of one conversation, compared: each difference in one readable line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.differential.session import Record

ABSENT = "nothing"
_SHOWN = 300


@dataclass(frozen=True)
class Difference:
    """At one place of one answer the servers say different things. `message` is the real one's."""

    sequence: str
    step: int
    request: str
    place: str
    real: Any
    ours: Any
    real_status: int = 0
    our_status: int = 0
    message: str = ""
    causes_are_the_same: bool = False

    @property
    def status_equal(self) -> bool:
        return self.real_status == self.our_status

    def __str__(self) -> str:
        return (
            f"{self.sequence} step {self.step}: {self.request}\n"
            f"  {self.place}\n    real: {shown(self.real)}\n    ours: {shown(self.ours)}"
        )


def shown(value: Any) -> str:
    text = value if value is ABSENT else json.dumps(value, sort_keys=True)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + f"… ({len(text)} characters)"


def differences(sequence: str, real: Sequence[Record], ours: Sequence[Record]) -> list[Difference]:
    """What differs, step by step. Of another status, only the message is told; what stays different is told once."""
    found: list[Difference] = []
    told: set[tuple[str, str, str]] = set()
    for step, (one, other) in enumerate(zip(real, ours, strict=False), 1):
        places = list(_places("", one, other))
        if decisive := [place for place in places if place[0] in ("status", "body.kind")]:
            places = decisive + [place for place in places if place[0] in ("body.message", "body")]
        body = one.get("body")
        message = str(body.get("message", "")) if isinstance(body, dict) else ""
        same_causes = _causes(one) == _causes(other)
        found += [
            Difference(sequence, step, one["request"], *place, one["status"], other["status"], message, same_causes)
            for place in places
            if _is_news(place, told)
        ]
    if len(real) != len(ours):
        found.append(Difference(sequence, min(len(real), len(ours)), "the end", "steps", len(real), len(ours)))
    return found


def _causes(record: Record) -> list[str]:
    """The faults that an answer names, in no order."""
    body = record.get("body")
    details = body.get("details") if isinstance(body, dict) else None
    return sorted(map(str, (details or {}).get("causes") or ()))


def _is_news(place: tuple[str, Any, Any], told: set[tuple[str, str, str]]) -> bool:
    path, real, ours = place
    key = (path, shown(real), shown(ours))
    if path.startswith(("body.metadata", "body.spec", "body.status.")):
        if key in told:
            return False
        told.add(key)
    return True


def _places(path: str, real: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in sorted({*real, *ours}):
            yield from _places(f"{path}.{key}" if path else key, real.get(key, ABSENT), ours.get(key, ABSENT))
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for index, (one, other) in enumerate(zip(real, ours, strict=True)):
            yield from _places(f"{path}[{index}]", one, other)
    elif real != ours or type(real) is not type(ours):
        yield path, real, ours
