"""When users are told that a job waits: most waits end with the next cycle, and nobody needs to hear of them.

Used by outcome.py; how patient a scheduler is says `Options.patience_seconds`.
"""

from __future__ import annotations

from typing import Final

from volcano.scheduler.cluster.jobs import Job, Wait
from volcano.scheduler.cluster.tasks import Status

WAITING: Final = (Status.PENDING, Status.ALLOCATED, Status.PIPELINED)
AGAIN: Final = 5
"""A wait that was told is looked at again after so many times the patience: texts change with every node that fills."""


def is_due(job: Job, now: float, patience_seconds: float | None) -> bool:
    """Whether to say now why the job waits; always, when there is no patience.

    A gang whose pods are still being made does not wait for the scheduler.
    """
    if patience_seconds is None:
        return True
    counts = job.tally.counts
    if not (job.is_pending or counts[Status.PENDING] or counts[Status.ALLOCATED] or counts[Status.PIPELINED]):
        job.wait = None
        return False
    wait, pods = job.wait, len(job.tasks)
    if wait is None or wait.pods < min(job.min_available, pods):
        job.wait = Wait(pods, now + patience_seconds)
        return False
    if now < wait.due:
        return False
    wait.due = now + AGAIN * patience_seconds
    return True
