"""The order of a merged list: what the writer names comes in the writer's order, the rest stays where it was.

Shared by strategic.py and apply.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Identity = Callable[[Any], Hashable]


def weave(items: Iterable[Any], wanted: Iterable[Any], current: Iterable[Any], identity: Identity) -> list[Any]:
    """Items named by `wanted` in its order, woven into the others, which keep theirs from `current`."""
    rank = {identity(item): index for index, item in enumerate(wanted)}
    place = {identity(item): index for index, item in enumerate(current)}
    keyed = [(identity(item), item) for item in items]
    named = sorted((pair for pair in keyed if pair[0] in rank), key=lambda pair: rank[pair[0]])
    others = [pair for pair in keyed if pair[0] not in rank]
    result: list[Any] = []
    next_other = 0
    for key, item in named:
        here = place.get(key)
        while here is not None and next_other < len(others) and place.get(others[next_other][0], here) < here:
            result.append(others[next_other][1])
            next_other += 1
        result.append(item)
    return result + [item for _, item in others[next_other:]]
