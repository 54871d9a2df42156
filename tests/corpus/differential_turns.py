"""How a world is decided where queues take their turns from a heap that nobody puts in order while shares change.

The reference does so. With hierarchical fairness one placement changes the shares of other queues, too, which lie in
the heap; it then gives the turn to a queue that is not first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from unittest.mock import patch

from tests.corpus import differential_worlds as worlds
from tests.corpus.loader import Record
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.framework.session import Session


class StaleHeap:
    """A binary heap with what the scheduler asks of one: who is first is taken out, and pushed again unless dropped."""

    def __init__(self, key: Callable[[Queue], Any], queues: Iterable[Queue]) -> None:
        self._key = key
        self._lying: list[Queue] = []
        self._first: Queue | None = None
        for queue in queues:
            self._push(queue)

    def __len__(self) -> int:
        return len(self._lying) + (self._first is not None)

    def first(self) -> Queue:
        if self._first is not None:
            self._push(self._first)
        lying = self._lying
        lying[0], lying[-1] = lying[-1], lying[0]
        self._first = lying.pop()
        self._sink()
        return self._first

    def drop(self) -> None:
        self._first = None

    def _push(self, queue: Queue) -> None:
        lying = self._lying
        lying.append(queue)
        place = len(lying) - 1
        while place and self._key(lying[place]) < self._key(lying[(place - 1) // 2]):
            above = (place - 1) // 2
            lying[place], lying[above] = lying[above], lying[place]
            place = above

    def _sink(self) -> None:
        lying, place = self._lying, 0
        while below := range(2 * place + 1, min(2 * place + 3, len(lying))):
            least = min(below, key=lambda each: self._key(lying[each]))
            if not self._key(lying[least]) < self._key(lying[place]):
                return
            lying[place], lying[least] = lying[least], lying[place]
            place = least


def decided_in_stale_turns(record: Record) -> dict[str, Any]:
    def queue_heap(session: Session, queues: Iterable[Queue]) -> StaleHeap:
        return StaleHeap(session.queue_order, queues)

    with patch.object(Session, "queue_heap", queue_heap):
        return worlds.outcome(*worlds.run(record, worlds.conf_of(record, worlds.confs())))
