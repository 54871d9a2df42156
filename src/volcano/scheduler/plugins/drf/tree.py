"""The tree of hierarchical fairness: queues at paths like `root/eng/prod`, jobs as leaves, shares bubbling up.

A node's allocation is scaled so that its unsatisfied children count with the smallest dominant share among them: a
child that cannot use more does not speak for its siblings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volcano.api import keys
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import EPSILON, FloatVector, Vector, shares

Held = Callable[[Job], Vector]


@dataclass(slots=True)
class Node:
    weight: float = 1.0
    share: float = 0.0
    saturated: bool = False
    allocated: FloatVector | None = None
    children: dict[str, Node] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)


class Tree:
    """Sums are computed when a comparison needs them; `held` says what a job holds now."""

    def __init__(self, total: FloatVector, jobs: Iterable[Job], held: Held) -> None:
        self._total = total
        self._counted = total >= EPSILON
        self._held = held
        self._root = Node()
        self._assumed: dict[str, Vector] = {}
        self._is_current = False
        for job in jobs:
            if job.queue is not None:
                self._node_of(job.queue).jobs.append(job)

    def forget_sums(self) -> None:
        """Some job's allocation has changed."""
        self._is_current = False

    @contextmanager
    def assuming(self, job: Job, more: Vector) -> Iterator[None]:
        """As if the job held so much more (or less)."""
        before = self._assumed.get(job.key)
        self._assumed[job.key] = more if before is None else before + more
        self._is_current = False
        try:
            yield
        finally:
            if before is None:
                del self._assumed[job.key]
            else:
                self._assumed[job.key] = before
            self._is_current = False

    def order(self, queue: Queue) -> Any:
        """A sort key for `compare`, as it is at the moment of the comparison."""
        return cmp_to_key(self.compare)(queue)

    def compare(self, left: Queue, right: Queue) -> int:
        """Negative if `left` is served first: the first level of their paths that tells them apart decides."""
        self._update()
        one = other = self._root
        for name, other_name in zip(_path(left), _path(right), strict=False):
            one, other = one.children.get(name, Node()), other.children.get(other_name, Node())
            if one.saturated != other.saturated:
                return 1 if one.saturated else -1
            difference = one.share / one.weight - other.share / other.weight
            if difference:
                return -1 if difference < 0 else 1
        return 0

    # Inside

    def _node_of(self, queue: Queue) -> Node:
        """The node of the queue's path; nodes that are there already keep their weight."""
        node = self._root
        weights = queue.object.metadata.annotations.get(keys.HIERARCHY_WEIGHTS, "").split("/")
        for level, name in enumerate(_path(queue), 1):
            child = node.children.get(name)
            if child is None:
                child = node.children[name] = Node(_weight(weights[level] if level < len(weights) else ""))
            node = child
        return node

    def _update(self) -> None:
        if self._is_current:
            return
        self._is_current = True
        used = np.zeros_like(self._total)
        for job in self._jobs_below(self._root):
            used += self._holds(job)
        self._sum_up(self._root, used < self._total)

    def _jobs_below(self, node: Node) -> Iterator[Job]:
        yield from node.jobs
        for child in node.children.values():
            yield from self._jobs_below(child)

    def _sum_up(self, node: Node, demanding: NDArray[np.bool_]) -> None:
        """Allocation, share and saturation of an inner node from its children."""
        parts: list[tuple[FloatVector, float, bool]] = []
        for child in node.children.values():
            self._sum_up(child, demanding)
            parts.append((np.asarray(child.allocated), child.share, child.saturated))
        for job in node.jobs:
            held = self._holds(job)
            parts.append((held, self._share(held), self._is_saturated(job, held, demanding)))
        unsaturated = [share for _, share, saturated in parts if share and not saturated]
        least = min([1.0, *unsaturated])
        total = np.zeros_like(self._total)
        for allocated, share, saturated in parts:
            if share:
                total = total + (allocated if saturated else allocated * (least / share))
        node.allocated = total
        node.share = self._share(total)
        node.saturated = all(saturated for _, _, saturated in parts)

    def _holds(self, job: Job) -> FloatVector:
        held = self._held(job)
        assumed = self._assumed.get(job.key)
        return np.asarray(held if assumed is None else held + assumed, dtype=np.float64)

    def _is_saturated(self, job: Job, held: FloatVector, demanding: NDArray[np.bool_]) -> bool:
        """The job has all it asks for of something, or nobody can give it more of something."""
        has, wants = held >= EPSILON, job.total_request != 0
        satisfied = has & wants & (held >= job.total_request)
        return bool((satisfied | (has & wants & ~demanding)).any())

    def _share(self, amount: FloatVector) -> float:
        parts = shares(amount[self._counted], self._total[self._counted])
        return float(parts.max()) if len(parts) else 0.0


def _path(queue: Queue) -> list[str]:
    """The names below the root."""
    return queue.object.metadata.annotations.get(keys.HIERARCHY, "").split("/")[1:]


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 1.0
    return weight if weight >= 1 else 1.0
