"""When a finished job is due for removal.

Pure. Called by controller.py.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from volcano.controllers.job.vocabulary import FINAL

if TYPE_CHECKING:
    from volcano.api.batch import Job


class NoFinishTime(ValueError):
    """A finished job that does not say when it finished."""


def expires(job: Job) -> bool:
    """Whether the job will have to go at some time: it has ended and says how long it may stay."""
    has_ended = job.status.state.phase in FINAL
    return has_ended and job.spec.ttl_seconds_after_finished is not None and job.metadata.deletion_timestamp is None


def expiry(job: Job) -> datetime.datetime:
    """When `job`, which `expires`, has to go."""
    ttl = job.spec.ttl_seconds_after_finished
    if not expires(job) or ttl is None:
        raise ValueError(f"job {job.metadata.key} should not be cleaned up")
    return finish_time(job) + datetime.timedelta(seconds=ttl)


def time_left(job: Job, now: datetime.datetime) -> datetime.timedelta:
    """Negative or zero when the job is due."""
    return expiry(job) - now


def finish_time(job: Job) -> datetime.datetime:
    ended = job.status.state.last_transition_time
    if ended is None:
        raise NoFinishTime(f"unable to find the time when the Job {job.metadata.key} finished")
    return ended
