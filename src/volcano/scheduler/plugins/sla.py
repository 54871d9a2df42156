"""sla: no job waits for ever. The nearer its deadline, the earlier a job is served; past it, it is let in and on.

A deadline is the job's creation plus its waiting time: its own (an annotation) or the plugin's.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from volcano.api import duration, keys
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import Vector
from volcano.scheduler.framework.plugin import Plugin, SortKey, Vote
from volcano.scheduler.framework.session import Session

ARGUMENT: Final = "sla-waiting-time"
ANNOTATIONS: Final = (keys.SLA_WAITING_TIME, ARGUMENT)
"""The first one that is readable counts."""


class Arguments(msgspec.Struct, frozen=True):
    waiting_time: str = msgspec.field(default="", name=ARGUMENT)


class Sla(Plugin):
    name = "sla"
    Arguments = Arguments

    def open(self, session: Session) -> None:
        text = self.arguments.waiting_time
        self._default = waiting_seconds(text)
        if text and self._default is None:
            session.warn(f"sla: {ARGUMENT} {text!r} is not a duration above 0 (like 1h30m) and has no effect")
        self._deadlines: dict[str, float] = {}

    def job_order(self, job: Job) -> SortKey:
        return self._deadline(job)

    def job_enqueueable(self, job: Job) -> Vote:
        return Vote.PERMIT if self.session.now >= self._deadline(job) else Vote.ABSTAIN

    def admits_ahead(self, queue: Queue, amount: Vector) -> bool:
        return True  # it keeps nobody out

    def job_pipelined(self, job: Job) -> Vote:
        return self.job_enqueueable(job)

    def _deadline(self, job: Job) -> float:
        deadline = self._deadlines.get(job.key)
        if deadline is None:
            waiting = self._waiting_seconds(job)
            deadline = self._deadlines[job.key] = math.inf if waiting is None else job.created + waiting
        return deadline

    def _waiting_seconds(self, job: Job) -> float | None:
        annotations = job.pod_group.metadata.annotations if job.pod_group else {}
        for key in ANNOTATIONS:
            seconds = waiting_seconds(annotations.get(key, ""))
            if seconds is not None:
                return seconds
        return self._default


def waiting_seconds(text: str) -> float | None:
    """A duration above zero; None if `text` is none."""
    try:
        seconds = duration.parse_seconds(text)
    except duration.DurationError:
        return None
    return seconds if seconds > 0 else None
