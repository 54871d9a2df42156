"""overcommit: admit jobs for somewhat more than the cluster has, and no further."""

from __future__ import annotations

import msgspec
import numpy as np

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.resources import FloatVector, exceeding
from volcano.scheduler.framework.plugin import Plugin, Vote
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.shortage import lacking, overdrawn
from volcano.scheduler.plugins.reservations import Claims, minimum, without_gated

DEFAULT_FACTOR = 1.2


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
        used = session.nodes.used.sum(axis=0, dtype=np.float64)
        self.idle: FloatVector = session.total * factor - used
        self.claimed: FloatVector = Claims.of(session.cluster).promised.astype(np.float64)

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        if job.min_resources is None:
            return Vote.PERMIT
        wanted = minimum(self.session, job)
        short = exceeding(wanted, self.claimed + wanted, self.idle)
        if not short or self.session.hooks.any("entitled", job):
            return Vote.PERMIT
        names = [self.session.cluster.dimensions.names[dimension] for dimension in short]
        text = f"resource in cluster is overused: overused {' '.join(names)}"
        claimed = self.claimed + wanted
        text = f"{text}: {overdrawn(self.session, short, claimed, self.idle)}"
        self.session.tell_pod_group(job, "Unschedulable", text)
        reason = Reason(Stage.ENQUEUE, "ClusterOverused", blocker=names[0], message=text)
        return lacking(self.session, reason, short[0], claimed, self.idle)

    def job_enqueued(self, job: Job) -> None:
        if job.min_resources is not None:
            self.claimed += without_gated(job, minimum(self.session, job))
