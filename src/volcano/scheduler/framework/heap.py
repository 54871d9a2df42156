"""A priority queue whose order may change while elements wait in it: keys are looked at again when they surface."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Heap(Generic[T]):
    """Pops the element with the smallest key. Ties do not occur: keys end in something unique."""

    def __init__(self, key: Callable[[T], Any], items: Iterable[T] = ()) -> None:
        self._key = key
        self._count = 0
        self._entries: list[tuple[Any, int, T]] = []
        for item in items:
            self.push(item)

    def __len__(self) -> int:
        return len(self._entries)

    def push(self, item: T) -> None:
        self._count += 1
        heapq.heappush(self._entries, (self._key(item), self._count, item))

    def pop(self) -> T:
        while True:
            key, number, item = self._entries[0]
            current = self._key(item)
            if current == key or len(self._entries) == 1:
                heapq.heappop(self._entries)
                return item
            heapq.heapreplace(self._entries, (current, number, item))
            if self._entries[0][2] is item:
                heapq.heappop(self._entries)
                return item
