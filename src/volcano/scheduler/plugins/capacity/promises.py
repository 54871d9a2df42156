"""Room promised to pods that were let out from behind the queue-allocation gate: others leave it to them.

plugin.py subtracts it from what a queue and its ancestors may still take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from volcano.scheduler.cluster.resources import FloatVector
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.options import QUEUE_ADMISSION_GATES
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.capacity.accounts import Account

AccountOf = Callable[[Task], Account | None]


class Promises:
    """For one session; empty unless the feature gate is on."""

    def __init__(self, session: Session, account_of: AccountOf) -> None:
        self._account_of = account_of
        self._enabled = session.options.gate(QUEUE_ADMISSION_GATES, default=False)
        self._tasks: set[str] = set()
        self._room: dict[str, FloatVector] = {}
        if self._enabled:
            for job in session.jobs.values():
                self.make([task for task in job.pending.values() if task.asks_queue_first and not task.gates])

    def against(self, account: Account, task: Task) -> FloatVector | float:
        """What this queue keeps for others than the task. Those who have a promise do not stand in each other's way."""
        return 0.0 if task.uid in self._tasks else self._room.get(account.queue.name, 0.0)

    def make(self, tasks: Sequence[Task]) -> None:
        self._change([task for task in tasks if task.uid not in self._tasks], 1)
        self._tasks.update(task.uid for task in tasks)

    def keep(self, tasks: Sequence[Task]) -> None:
        """They have their nodes."""
        promised = [task for task in tasks if task.uid in self._tasks]
        self._change(promised, -1)
        self._tasks.difference_update(task.uid for task in promised)

    def renew(self, tasks: Sequence[Task]) -> None:
        """They gave up the nodes that they had got."""
        if self._enabled:
            self.make([task for task in tasks if task.asks_queue_first])

    def _change(self, tasks: Sequence[Task], sign: int) -> None:
        for task in tasks:
            account = self._account_of(task)
            for one in account.chain if account is not None else ():
                room = self._room.get(one.queue.name)
                request = task.profile.request * float(sign)
                self._room[one.queue.name] = np.maximum(request if room is None else room + request, 0.0)
