"""The order of merged lists: what the writer names comes in the writer's order, the rest stays where it was.

`weave` is strategic.py's, `zipped` apply.py's: they differ in where new items go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
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


def zipped(current: Sequence[str], wanted: Sequence[str]) -> list[tuple[str, int | None]]:
    """A list that was `current` after somebody applied `wanted`: each item with the place that it keeps its value from.

    Items that were applied come without a place. New ones follow what stands before them in either list.
    """
    applied, present, placed = set(wanted), set(current), set[str]()
    common = [item for item in wanted if item in present]
    result: list[tuple[str, int | None]] = []
    left = right = 0

    def place() -> None:
        nonlocal right
        item = wanted[right]
        placed.add(item)
        result.append((item, None))
        right += 1
        if common and common[0] == item:
            del common[0]

    while left < len(current) or right < len(wanted):
        item = current[left] if left < len(current) else None
        if item is None:
            place()
        elif item not in applied:
            result.append((item, left))
            left += 1
        elif right < len(wanted) and item == wanted[right]:
            place()
            left += 1
        elif item in placed or (right < len(wanted) and common and common[0] != item):
            left += 1  # it has its place already, or will get it where the writer wants it
        elif right < len(wanted):
            place()
        else:
            left += 1
    return result
