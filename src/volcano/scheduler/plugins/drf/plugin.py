"""drf: of two jobs the one with the smaller dominant share is served first, and may preempt the other.

With `enableHierarchy` queues are compared along their paths in a weighted tree (tree.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import EPSILON, FloatVector, Vector
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.plugin import Plugin, SortKey
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.drf.tree import Tree

TOLERANCE: Final = 1e-6
HIERARCHY: Final = "enableHierarchy"


class Drf(Plugin):
    name = "drf"
    shares_out = True

    def open(self, session: Session) -> None:
        self._promised: dict[str, Vector] = {}
        """Per job, what its pipelined tasks will hold."""
        self._moved: set[str] = set()
        self._shares: dict[str, float] = {}
        self._counted = np.flatnonzero(session.total >= EPSILON)
        self._offered: FloatVector = session.total[self._counted]
        self._tree: Tree | None = None
        self.reorders_queues = bool(self.switches.get(HIERARCHY))
        if self.reorders_queues:
            self._tree = Tree(session.total, session.jobs.values(), self._held)

    def job_order(self, job: Job) -> SortKey:
        if not job.tally.allocated and job.key not in self._promised:
            return 0.0
        share = self._shares.get(job.key)
        if share is None:
            share = self._shares[job.key] = self._share(self._held(job))
        return share

    def preemptable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Tasks of jobs that even without them have no smaller share than the claimant's job with it."""
        job = claimant.job
        if job is None or job.key not in self.session.jobs:
            return []
        claimed = self._share(self._held(job) + claimant.profile.request)
        left: dict[str, Vector] = {}
        victims = []
        for task in candidates:
            if task.job is None:
                continue
            held = left.get(task.job.key)
            held = left[task.job.key] = (self._held(task.job) if held is None else held) - task.profile.request
            share = self._share(held)
            if claimed < share or abs(claimed - share) <= TOLERANCE:
                victims.append(task)
        return victims

    def queue_order(self, queue: Queue) -> SortKey:
        return self._tree.order(queue) if self._tree is not None else 0

    def reclaimable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        """Tasks whose queue, even without them, comes after the claimant's queue with it."""
        tree, job = self._tree, claimant.job
        if tree is None or job is None or job.queue is None:
            return None
        victims = []
        with tree.assuming(job, claimant.profile.request):
            for task in candidates:
                victim = task.job
                if victim is None or victim.queue is None or victim.key not in self.session.jobs:
                    continue
                with tree.assuming(victim, -task.profile.request):
                    if tree.compare(job.queue, victim.queue) < 0:
                        victims.append(task)
        return victims

    def allocated(self, tasks: Sequence[Task]) -> None:
        self._move(tasks, 1)

    def deallocated(self, tasks: Sequence[Task]) -> None:
        self._move(tasks, -1)

    def close(self) -> None:
        for key in self._moved:
            job = self.session.jobs.get(key)
            if job is not None:
                self.session.gauge("job_share", self.job_order(job), job.namespace, job.name)

    def _held(self, job: Job) -> Vector:
        promised = self._promised.get(job.key)
        return job.allocated if promised is None else job.allocated + promised

    def _share(self, held: Vector) -> float:
        """The largest share of any resource that the cluster has."""
        return float((held[self._counted] / self._offered).max()) if len(self._offered) else 0.0

    def _move(self, tasks: Sequence[Task], sign: int) -> None:
        job = tasks[0].job
        if job is None:
            return
        if tasks[0].status is Status.PIPELINED:
            amount = tasks[0].profile.request * (sign * len(tasks))
            self._promised[job.key] = self._promised.get(job.key, 0) + amount
        self._shares.pop(job.key, None)
        self._moved.add(job.key)
        if self._tree is not None:
            self._tree.forget_sums()
