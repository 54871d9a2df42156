"""task-topology: members of a job that belong together go to one node if they fit, those that do not, elsewhere.

roles.py reads the wishes, buckets.py groups the tasks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.nodes import Index, Mask
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import EPSILON, Vector
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.plugin import Plugin, Scores, SortKey
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.task_topology.buckets import Bucket, Buckets
from volcano.scheduler.plugins.task_topology.roles import RolesError, roles_of

SCORE_MAX = 100


class Arguments(msgspec.Struct, frozen=True):
    weight: int = msgspec.field(default=1, name="task-topology.weight")


class TaskTopology(Plugin):
    name = "task-topology"
    Arguments = Arguments

    def open(self, session: Session) -> None:
        self._jobs: dict[str, Buckets] = {}
        self._profiles: set[int] = set()
        """Of tasks in buckets."""
        self._placed: defaultdict[str, defaultdict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        """Roles placed in this session, by job and row."""
        for job in session.restless_jobs:
            buckets = self._buckets_of(job) if job.pending else None
            if buckets is not None:
                self._jobs[job.key] = buckets
                self._profiles |= {job.tasks[uid].profile.id for uid in buckets.of}

    def task_order(self, task: Task) -> SortKey:
        """The bucket with the most waiting tasks has the next turn; tasks in no bucket come last."""
        buckets = self._of(task)
        if buckets is None:
            return (0, 0)
        return (int(task.uid not in buckets.of), buckets.turn.get(task.uid, 0))

    def couples_nodes(self, profile: Profile) -> bool:
        return profile.id in self._profiles

    def domain_scores(self, task: Task, rows: Index) -> Scores | None:
        buckets = self._of(task)
        bucket = buckets.of.get(task.uid) if buckets is not None else None
        if buckets is None or bucket is None or not buckets.largest:
            return None
        room = self.nodes.idle[rows] + self.nodes.releasing[rows]
        company = np.fromiter((self._company(task, bucket, row) for row in rows.tolist()), np.int64, len(rows))
        score = company + self._together(task, bucket, room)
        enough = _fits(task.profile.request, room)
        return np.where(enough, score * (self.arguments.weight * SCORE_MAX / buckets.largest), 0.0)

    def allocated(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            buckets = self._of(task)
            bucket = buckets.of.get(task.uid) if buckets is not None else None
            if bucket is not None and task.uid in bucket.waiting and task.job is not None:
                bucket.drop_waiting(task)
                bucket.bound[task.node] += 1
                self._placed[task.job.key][task.node][task.role] += 1

    def deallocated(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            if task.job is None or not self._placed[task.job.key][task.node][task.role]:
                continue
            bucket = self._jobs[task.job.key].of[task.uid]
            self._placed[task.job.key][task.node][task.role] -= 1
            bucket.bound[task.node] -= 1
            bucket.add_waiting(task)

    # Inside

    def _of(self, task: Task) -> Buckets | None:
        return self._jobs.get(task.job.key) if task.job is not None else None

    def _buckets_of(self, job: Job) -> Buckets | None:
        annotations = job.pod_group.metadata.annotations if job.pod_group else {}
        try:
            roles = roles_of(annotations, {task.role for task in job.tasks.values() if task.role})
        except RolesError as problem:
            self.session.warn(f"task-topology: job {job.key}: {problem}; its wishes have no effect")
            return None
        return None if roles is None else Buckets(roles, job.tasks.values(), self.session.cluster.dimensions.width)

    def _company(self, task: Task, bucket: Bucket, row: int) -> int:
        """Members of the bucket on the node, less whom the task does not want beside it."""
        assert task.job is not None, "only members of jobs are in buckets"
        roles = self._jobs[task.job.key].roles
        placed = self._placed[task.job.key].get(row)
        return bucket.bound.get(row, 0) + (roles.repulsion(task.role, placed) if placed else 0)

    def _together(self, task: Task, bucket: Bucket, room: Vector) -> NDArray[np.int64]:
        """How many of the bucket's waiting tasks, this one among them, fit into each node's room together."""
        number = len(bucket.waiting)
        left = bucket.total.copy()
        together = np.full(len(room), number, dtype=np.int64)
        crowded = ~_fits(left, room)
        for other in reversed(list(bucket.waiting.values())):
            if other is task or not crowded.any():
                continue
            left = left - other.profile.request
            together[crowded] -= 1
            crowded &= ~_fits(left, room)
        return together


def _fits(request: Vector, room: Vector) -> Mask:
    wanted = np.flatnonzero(request)
    return np.asarray((request[wanted] - room[:, wanted] < EPSILON).all(axis=1))
