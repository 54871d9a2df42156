"""Podgroups that the scheduler lets in before they are there: which jobs may have one that begins as Inqueue.

What a queue's annotation promises (api/credit.py) is spent here, one podgroup at a time. What another process may have
spent before us is not ours: only what the watch shows after its first view.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING

from volcano.api import credit
from volcano.api.keys import ADMISSION_CREDIT
from volcano.kube.informer import Callbacks

if TYPE_CHECKING:
    from volcano.api.credit import Credit
    from volcano.api.scheduling import Queue


class Purse:
    """What is left of the present credit of each queue."""

    def __init__(self) -> None:
        self._credits: dict[str, Credit] = {}
        self._left: dict[str, int] = {}
        self.callbacks: Callbacks[Queue] = Callbacks(update=self._queue_updated, delete=self._queue_deleted)

    def offers(self, queue: str) -> bool:
        return self._left.get(queue, 0) > 0

    def covers(self, queue: str, scheduler_name: str, declared: Mapping[str, object], now: datetime.datetime) -> bool:
        """Whether a podgroup that asks for `declared` may be made Inqueue."""
        if not self.offers(queue):
            return False
        offered = self._credits[queue]
        return scheduler_name in offered.scheduler_names and now < offered.until and offered.covers(declared)

    def spend(self, queue: str) -> None:
        self._left[queue] -= 1

    def _queue_updated(self, old: Queue, new: Queue) -> None:
        name, text = new.metadata.name, new.metadata.annotations.get(ADMISSION_CREDIT)
        if text == old.metadata.annotations.get(ADMISSION_CREDIT):
            return
        offered, known = credit.of(new.metadata), self._credits.get(name)
        if offered is None:
            self._left[name] = 0
        elif known is None or known.id != offered.id:
            self._credits[name], self._left[name] = offered, offered.groups

    def _queue_deleted(self, queue: Queue) -> None:
        self._credits.pop(queue.metadata.name, None)
        self._left.pop(queue.metadata.name, None)
