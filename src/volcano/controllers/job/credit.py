"""Podgroups that the scheduler lets in before they are there: which jobs may have one that begins as Inqueue.

What a queue's annotation promises (api/credit.py) is spent here, one podgroup at a time. What another process may have
spent before us is not ours: only what the watch shows while we lead.
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

REMEMBERED = 8
"""Credits of a queue: two schedulers may write theirs over each other's, and one taken back may be written again."""


class CreditBalance:
    """The present credit of each queue, and what is left of it and of the last ones before it."""

    def __init__(self) -> None:
        self._present: dict[str, Credit] = {}
        self._left: dict[str, dict[str, int]] = {}
        """Groups, by queue and id of a credit."""
        self.callbacks: Callbacks[Queue] = Callbacks(self._queue_added, self._queue_updated, self._queue_deleted)

    def begin(self) -> None:
        """This process works from now on: whoever led while it stood by may have spent all that there was."""
        self._left = {queue: dict.fromkeys(left, 0) for queue, left in self._left.items()}

    def offers(self, queue: str) -> bool:
        present = self._present.get(queue)
        return present is not None and self._left[queue][present.id] > 0

    def covers(self, queue: str, scheduler_name: str, declared: Mapping[str, object], now: datetime.datetime) -> bool:
        """Whether a podgroup that asks for `declared` may be made Inqueue."""
        if not self.offers(queue):
            return False
        offered = self._present[queue]
        return scheduler_name in offered.scheduler_names and now < offered.until and offered.covers(declared)

    def spend(self, queue: str) -> None:
        self._left[queue][self._present[queue].id] -= 1

    def _queue_added(self, queue: Queue) -> None:
        found = credit.of(queue.metadata)
        if found is not None:
            self._left[queue.metadata.name] = {found.id: 0}

    def _queue_updated(self, old: Queue, new: Queue) -> None:
        name, text = new.metadata.name, new.metadata.annotations.get(ADMISSION_CREDIT)
        if text == old.metadata.annotations.get(ADMISSION_CREDIT):
            return
        offered = credit.of(new.metadata)
        if offered is None:
            self._present.pop(name, None)
            return
        left = self._left.setdefault(name, {})
        left.setdefault(offered.id, offered.groups)
        self._present[name] = offered
        if len(left) > REMEMBERED:
            del left[next(iter(left))]

    def _queue_deleted(self, queue: Queue) -> None:
        self._present.pop(queue.metadata.name, None)
        self._left.pop(queue.metadata.name, None)
