"""overcommit: admit jobs for somewhat more than the cluster has, and no further."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec
import numpy as np

from volcano.scheduler.cluster.jobs import INQUEUE, Job
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import FloatVector, Vector, exceeding, readable
from volcano.scheduler.framework.plugin import Plugin, Vote
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.shortage import lacking, overdrawn, worst
from volcano.scheduler.plugins.reservations import Claims, minimum, without_gated

DEFAULT_FACTOR = 1.2
_NAMED: Final = 3
"""So many jobs that hold the room are told; the others are counted."""


class Arguments(msgspec.Struct, frozen=True):
    factor: float = msgspec.field(default=DEFAULT_FACTOR, name="overcommit-factor")


class Overcommit(Plugin):
    name = "overcommit"
    Arguments = Arguments

    def open(self, session: Session) -> None:
        factor = self.arguments.factor
        if factor < 1.0:
            session.warn(f"overcommit: factor {factor} is below 1, {DEFAULT_FACTOR} is used")
            factor = DEFAULT_FACTOR
        self.factor = factor
        self.used: FloatVector = session.nodes.used.sum(axis=0, dtype=np.float64)
        self.idle: FloatVector = session.total * factor - self.used
        self.claimed: FloatVector = Claims.of(session.cluster).promised.astype(np.float64)
        self._holders: dict[int, tuple[tuple[str, float], ...]] = {}
        """By dimension: jobs that are admitted and have not started, with what they claim, the largest first."""
        self._others: dict[int, str] = {}
        """By dimension: what the sums are made of, beside what a job asks for. The same for many jobs."""

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        if job.min_resources is None:
            return Vote.PERMIT
        wanted = minimum(self.session, job)
        short = exceeding(wanted, self.claimed + wanted, self.idle)
        if not short or self.session.hooks.any("entitled", job):
            return Vote.PERMIT
        names = [self.session.cluster.dimensions.names[dimension] for dimension in short]
        text = f"resource in cluster is overused: overused {' '.join(names)}"
        claimed, first = self.claimed + wanted, worst(self.session, short)
        text = f"{text}: {overdrawn(self.session, short, claimed, self.idle)} ({self._sums(first, wanted)})"
        self.session.tell_pod_group(job, "Unschedulable", text)
        reason = Reason(Stage.ENQUEUE, "ClusterOverused", message=text)
        reason = lacking(self.session, reason, first, claimed, self.idle)
        return self._with_holders(reason, first) if self.session.options.full_report else reason

    def admits_ahead(self, queue: Queue, amount: Vector) -> bool:
        return not exceeding(amount, self.claimed + amount, self.idle)

    def _sums(self, dimension: int, wanted: Vector) -> str:
        """What the two numbers of the refusal are made of."""
        name = self.session.cluster.dimensions.names[dimension]
        others = self._others.get(dimension)
        if others is None:
            claimed, used = self.claimed[dimension], self.used[dimension]
            beside = f" and admitted jobs claim {readable(name, claimed)}" if claimed > 0 else ""
            less = f", less {readable(name, used)} in use" if used > 0 else ""
            total = readable(name, self.session.total[dimension])
            others = f"{beside}; there is {total} times overcommit-factor {self.factor:g}{less}"
            self._others[dimension] = others
        return f"{name}: it asks for {readable(name, wanted[dimension])}{others}"

    def _with_holders(self, reason: Reason, dimension: int) -> Reason:
        """`reason`, naming the admitted jobs that have not started and claim most: they may never start."""
        found = self._holders.get(dimension)
        if found is None:
            found = self._holders[dimension] = self._unstarted(dimension)
        if not found:
            return reason
        others = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        keys = ", ".join(key for key, _ in found[:_NAMED]) + others
        shares = ", ".join(f"{key} ({readable(reason.resource, amount)})" for key, amount in found[:_NAMED]) + others
        text = f"{reason.message}; admitted and not started: {shares}"
        return replace(reason, blocker=keys, message=text)

    def _unstarted(self, dimension: int) -> tuple[tuple[str, float], ...]:
        amounts = (
            (job.key, float(without_gated(job, minimum(self.session, job))[dimension]))
            for job in self.session.jobs.values()
            if job.phase == INQUEUE and job.min_resources is not None
        )
        return tuple(sorted((pair for pair in amounts if pair[1] > 0), key=lambda pair: (-pair[1], pair[0])))

    def job_enqueued(self, job: Job) -> None:
        self._holders.clear()
        self._others.clear()
        if job.min_resources is not None:
            self.claimed += without_gated(job, minimum(self.session, job))
