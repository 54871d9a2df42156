"""A priority queue whose order may change while elements wait in it: keys are looked at again when they surface."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Heap(Generic[T]):
    """Pops the element with the smallest key. Ties do not occur: keys end in something unique.

    With `restless` the order of elements that lie in the heap may change too: then all of them are looked at.
    """

    def __init__(self, key: Callable[[T], tuple[Any, ...]], items: Iterable[T] = (), *, restless: bool = False) -> None:
        self._key = key
        self._restless = restless
        self._count = 0
        self._entries: list[tuple[Any, ...]] = []
        """The parts of the key, a number, the element: flat, as comparing parts is what costs."""
        for item in items:
            self.push(item)

    def __len__(self) -> int:
        return len(self._entries)

    def push(self, item: T) -> None:
        self._count += 1
        entry = (*self._key(item), self._count, item)
        if self._restless:
            self._entries.append(entry)
        else:
            heapq.heappush(self._entries, entry)

    def pop(self) -> T:
        item: T
        if self._restless:
            first = min(range(len(self._entries)), key=lambda i: self._key(self._entries[i][-1]))
            *_, item = self._entries.pop(first)
            return item
        while True:
            *key, number, item = self._entries[0]
            current = self._key(item)
            if current == tuple(key) or len(self._entries) == 1:
                heapq.heappop(self._entries)
                return item
            heapq.heapreplace(self._entries, (*current, number, item))
            if self._entries[0][-1] is item:
                heapq.heappop(self._entries)
                return item
