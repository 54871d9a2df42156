"""A priority queue whose order may change while elements wait in it: keys are looked at again when they surface."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Heap(Generic[T]):
    """The element with the smallest key is first. Ties do not occur: keys end in something unique.

    With `restless` the order of elements that do not surface may change too: then all of them are looked at. Nobody
    asks for the key of an element that lies there alone.
    """

    def __init__(self, key: Callable[[T], tuple[Any, ...]], items: Iterable[T] = (), *, restless: bool = False) -> None:
        self._key = key
        self._restless = restless
        self._count = 0
        self._alone: list[T] = []
        self._entries: list[tuple[Any, ...]] = []
        """The parts of the key, a number, the element: flat, as comparing parts is what costs."""
        for item in items:
            self.push(item)

    def __len__(self) -> int:
        return len(self._entries) + len(self._alone)

    def push(self, item: T) -> None:
        if not self._entries and not self._alone:
            self._alone.append(item)
            return
        if self._alone:
            self._enter(self._alone.pop())
        self._enter(item)

    def first(self) -> T:
        """The first element, which stays: cheaper than to pop and push one whose turn may come again at once."""
        item: T
        if self._alone:
            return self._alone[0]
        if self._restless:
            self._bring_up_first()
        while True:
            *key, number, item = self._entries[0]
            if self._restless or len(self._entries) == 1:
                return item
            current = self._key(item)
            if current == tuple(key):
                return item
            heapq.heapreplace(self._entries, (*current, number, item))
            if self._entries[0][-1] is item:
                return item

    def drop(self) -> None:
        """Take out the element that `first` gave."""
        if self._alone:
            self._alone.pop()
        elif self._restless:
            self._entries.pop(0)
        else:
            heapq.heappop(self._entries)

    def pop(self) -> T:
        item = self.first()
        self.drop()
        return item

    def _enter(self, item: T) -> None:
        self._count += 1
        entry = (*self._key(item), self._count, item)
        if self._restless:
            self._entries.append(entry)
        else:
            heapq.heappush(self._entries, entry)

    def _bring_up_first(self) -> None:
        """Nothing is known of the order of the others."""
        entries = self._entries
        place = min(range(len(entries)), key=lambda i: self._key(entries[i][-1]))
        entries[0], entries[place] = entries[place], entries[0]
