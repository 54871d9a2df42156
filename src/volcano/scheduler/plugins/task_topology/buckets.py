"""Buckets: the tasks of a job that should share a node, made once when a session opens.

roles.py says who wants to be with whom; plugin.py follows the placements.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from volcano.scheduler.cluster.resources import CPU, MEMORY, PODS, Vector
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.plugins.task_topology.roles import Roles

MEBIBYTE = 1 << 20


class Bucket:
    __slots__ = ("bound", "index", "roles", "total", "waiting")

    def __init__(self, index: int, width: int) -> None:
        self.index = index
        self.waiting: dict[str, Task] = {}
        self.roles: Counter[str] = Counter()
        self.total: Vector = np.zeros(width, dtype=np.int64)
        """What the waiting ones ask for."""
        self.bound: Counter[int] = Counter()
        """Members that have a node, by row."""

    def __len__(self) -> int:
        return len(self.waiting) + self.bound.total()

    @property
    def size(self) -> float:
        """How much is asked for, as one number: milli-CPU, MiB and all else added up."""
        rest = int(self.total.sum()) - int(self.total[CPU]) - int(self.total[MEMORY]) - int(self.total[PODS])
        return int(self.total[CPU]) + int(self.total[MEMORY]) / MEBIBYTE + rest

    def take(self, task: Task) -> None:
        self.roles[task.role] += 1
        if task.node_name:
            self.bound[task.node] += 1
        else:
            self.add_waiting(task)

    def add_waiting(self, task: Task) -> None:
        self.waiting[task.uid] = task
        self.total = self.total + task.profile.request

    def drop_waiting(self, task: Task) -> None:
        if self.waiting.pop(task.uid, None) is not None:
            self.total = self.total - task.profile.request


class Buckets:
    """Of one job."""

    def __init__(self, roles: Roles, tasks: Iterable[Task], width: int) -> None:
        self.roles = roles
        self.of: dict[str, Bucket] = {}
        """By task; tasks without wishes are in none."""
        self._all: list[Bucket] = []
        self._width = width
        wishing = [task for task in tasks if task.role and roles.has_wishes(task.role)]
        wishing.sort(key=lambda task: (not task.node_name, task.node_name, *_down(roles.rank(task.role)), task.name))
        by_node: dict[str, Bucket] = {}
        for task in wishing:
            if task.node_name:
                if task.node_name not in by_node:
                    by_node[task.node_name] = self._new()
                bucket = by_node[task.node_name]
            else:
                bucket = self._best(task) or self._new()
            bucket.take(task)
            self.of[task.uid] = bucket
        self.largest = max((len(bucket) for bucket in self._all), default=0)
        self.turn: dict[str, int] = {task.uid: turn for turn, task in enumerate(self._turns())}
        """Per waiting task, when it is its turn."""

    def _turns(self) -> Iterator[Task]:
        """Always from the bucket with most tasks left, there the role that comes first."""
        queues = {
            bucket.index: sorted(
                bucket.waiting.values(), key=lambda task: (*_down(self.roles.rank(task.role)), task.order), reverse=True
            )
            for bucket in self._all
            if bucket.waiting
        }
        heap = [(-len(tasks), index) for index, tasks in queues.items()]
        heapq.heapify(heap)
        while heap:
            left, index = heap[0]
            yield queues[index].pop()
            if left < -1:
                heapq.heapreplace(heap, (left + 1, index))
            else:
                heapq.heappop(heap)

    def _new(self) -> Bucket:
        bucket = Bucket(len(self._all), self._width)
        self._all.append(bucket)
        return bucket

    def _best(self, task: Task) -> Bucket | None:
        """Where the task is wanted most; of equals the smaller one. None if it is wanted nowhere."""
        best: Bucket | None = None
        most = 0
        for bucket in self._all:
            attraction = self.roles.attraction(task.role, bucket.roles)
            if attraction < 0:
                continue
            if best is None or attraction > most or (attraction == most and bucket.size < best.size):
                best, most = bucket, attraction
        return best


def _down(rank: tuple[int, int]) -> tuple[int, int]:
    return (-rank[0], -rank[1])
