"""What admitted jobs will still claim: arithmetic that the plugins which admit jobs share.

A job claims what of its `minResources` it does not hold yet, from its admission until it has them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from volcano.scheduler.cluster.jobs import INQUEUE, RUNNING, Job
from volcano.scheduler.cluster.resources import EPSILON, AnyVector, Dimensions, Vector, readable
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.shortage import full, lacking

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster


class Part(NamedTuple):
    """What one job adds to the sums."""

    queue: str
    promised: Vector | None
    """What it was admitted for; from when it runs, what it still claims. None: nothing."""
    claimed: Vector | None
    """What it will take beyond what it holds."""
    elastic: Vector | None
    """What it holds beyond its minimum, and could do without."""


class Claims:
    """What the scheduled jobs claim, summed up. Between sessions only the jobs that have changed are reckoned anew."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._changed = cluster.register()
        self._begin()

    @classmethod
    def of(cls, cluster: Cluster) -> Claims:
        """The sums as the jobs are at this moment. They are not to be changed."""
        claims = cluster.index(cls)
        claims.refresh()
        return claims

    @property
    def claimed(self) -> Mapping[str, Vector]:
        """By queue, where there is any."""
        return self._claimed

    @property
    def elastic(self) -> Mapping[str, Vector]:
        """By queue, where there is any."""
        return self._elastic

    def _begin(self) -> None:
        dimensions = self._cluster.dimensions
        self._width = dimensions.width
        self._parts: dict[str, Part] = {}
        self.promised: Vector = dimensions.zeros()
        """Of all queues together."""
        self._claimed: defaultdict[str, Vector] = defaultdict(dimensions.zeros)
        self._elastic: defaultdict[str, Vector] = defaultdict(dimensions.zeros)

    def refresh(self) -> None:
        if self._width != self._cluster.dimensions.width:
            self._begin()
            self._changed.update(self._cluster.scheduled)
        for key in self._changed:
            old = self._parts.pop(key, None)
            if old is not None:
                self._add(old, -1)
            job = self._cluster.scheduled.get(key)
            if job is not None:
                part = self._parts[key] = _part(self._cluster.dimensions, job)
                self._add(part, 1)
        self._changed.clear()

    def _add(self, part: Part, sign: int) -> None:
        if part.promised is not None:
            self.promised += part.promised * sign
        if part.claimed is not None:
            self._claimed[part.queue] += part.claimed * sign
        if part.elastic is not None:
            self._elastic[part.queue] += part.elastic * sign


def _part(dimensions: Dimensions, job: Job) -> Part:
    held, phase = job.tally.allocated, job.phase
    is_promised = job.min_resources is not None and phase == INQUEUE
    may_claim = job.min_resources is not None and phase == RUNNING and held >= job.min_available
    if not (is_promised or may_claim or held):
        return Part(job.queue_name, None, None, None)
    declared = dimensions.from_amounts(job.min_resources or {})
    beyond = job.allocated - declared
    amounts = beyond.tolist()  # to look at a few numbers NumPy takes several times as long
    claimed = promised = elastic = None
    if is_promised:
        claimed = without_gated(job, np.maximum(-beyond, 0))
        promised = without_gated(job, declared)
    elif may_claim and min(amounts) < 0:
        claimed = promised = _unless_empty(without_gated(job, np.maximum(-beyond, 0)))
    if held and max(amounts) > 0:
        elastic = np.maximum(beyond, 0)
    return Part(job.queue_name, promised, claimed, elastic)


def _unless_empty(amount: Vector) -> Vector | None:
    return amount if amount.any() else None


def minimum(session: Session, job: Job) -> Vector:
    """`spec.minResources`, zero where the PodGroup does not say."""
    return session.cluster.dimensions.from_amounts(job.min_resources or {})


def quota_reason(session: Session, queue: str, short: list[int], used: AnyVector, limit: AnyVector) -> Reason:
    """The record of a queue that may not take one more task: which resource, how much it would be, how much it may."""
    names = session.cluster.dimensions.names
    totals = ", ".join(
        f"would hold {readable(names[d], used[d])} {names[d]}, and may hold {readable(names[d], max(limit[d], 0))}"
        for d in short
    )
    text = f"queue {queue!r} {totals}"
    return beyond(session, Reason(Stage.QUEUE, "QueueQuotaExceeded", blocker=queue, message=text), short, used, limit)


def beyond(session: Session, reason: Reason, short: list[int], used: AnyVector, limit: AnyVector) -> Reason:
    """`reason`, which says that a queue is at its limit, with numbers. A queue that may use all there is has no limit

    of its own: there the cluster is what is full.
    """
    if all(limit[dimension] >= session.total[dimension] - EPSILON for dimension in short):
        return full(session, reason.stage, short, used, limit)
    return lacking(session, reason, short[0], used, limit)


def without_gated(job: Job, amount: Vector) -> Vector:
    """`amount` less what gated pods ask for; pods that only wait for their queue are not gated in this sense."""
    if not job.pending or not any(task.gates for task in job.pending.values()):
        return amount
    gated = [task.profile.request for task in job.pending.values() if task.gates and not task.waits_for_queue_only]
    return np.maximum(amount - sum(gated), 0) if gated else amount
