"""Strict field validation: fields written twice, and the sentence that lists them with the unknown ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from volcano.api.schema.errors import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from volcano.api.schema.errors import Step


class _Repeated(Exception):
    """Raised inside the parser at the first field that is written twice."""


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its fields in the order and number they were written."""


def duplicate_fields(body: bytes | str) -> list[str]:
    """Paths of the fields that a JSON document writes more than once."""
    try:
        json.loads(body, object_pairs_hook=_once)
    except _Repeated:
        document = json.loads(body, object_pairs_hook=_Pairs)
        return [path_of(tuple(reversed(steps))) for steps in _repeats(document, ())]
    return []


def strict_message(unknown: Iterable[str], duplicates: Iterable[str] = ()) -> str:
    """What Kubernetes says of fields that are unknown or written twice."""
    faults = [f'duplicate field "{path}"' for path in duplicates] + [f'unknown field "{path}"' for path in unknown]
    return f"strict decoding error: {', '.join(faults)}"


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1 and len({name for name, _ in pairs}) != len(pairs):
        raise _Repeated


def _repeats(node: Any, steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    if isinstance(node, _Pairs):
        seen: set[str] = set()
        for name, value in node:
            if name in seen:
                yield (*steps, name)
            seen.add(name)
            yield from _repeats(value, (*steps, name))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _repeats(value, (*steps, index))
