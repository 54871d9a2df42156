"""How many members of a job may be disrupted at once, by the budget in the annotations of its PodGroup."""

from __future__ import annotations

from volcano.api import keys
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.tasks import Status


def largest_disruption(job: Job) -> int:
    """By minimum available (looked at first) or maximum unavailable; a job without a budget loses one at a time."""
    annotations = job.pod_group.metadata.annotations if job.pod_group else {}
    running = job.tally.counts[Status.RUNNING]
    finished = job.tally.counts[Status.SUCCEEDED] + job.tally.counts[Status.FAILED]
    minimum = _number(annotations.get(keys.JDB_MIN_AVAILABLE, ""), len(job.tasks))
    if minimum is not None:
        return running - minimum if running >= minimum else 1
    maximum = _number(annotations.get(keys.JDB_MAX_UNAVAILABLE, ""), len(job.tasks))
    if maximum is not None:
        return max(maximum - (len(job.tasks) - finished - running), 0)
    return 1


def _number(text: str, whole: int) -> int | None:
    """A count, or a percentage of `whole` rounded up."""
    percent = text.endswith("%")
    digits = text.removesuffix("%")
    if not digits.isascii() or not digits.isdigit():
        return None
    return -(-int(digits) * whole // 100) if percent else int(digits)
