"""When a job's status is written: what is urgent at once, what is not a little later, and later still in a rush.

Used by controller.py: what is held back is decided anew, and newer news goes with it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from volcano.controllers.job import counts
from volcano.controllers.job.vocabulary import Phase
from volcano.kube.bucket import Bucket, Rush

if TYPE_CHECKING:
    from volcano.api.batch import Job, JobStatus
    from volcano.controllers.job.plan import Plan

Seconds = tuple[float, float]
"""How late a status may be: as a rule, and while many jobs change."""

AT_ONCE: Final[Seconds] = (0.0, 0.0)
COUNTERS: Final[Seconds] = (0.5, 10.0)
"""Numbers change with every pod."""
FIRST_WORD: Final[Seconds] = (0.0, 180.0)
"""In a rush a job runs before anybody has read that it is Pending, and the word costs as much as making its pod."""
BURST: Final = 20
REFILL_SECONDS: Final = 0.2
"""More writes of numbers than this are held back."""
WORD_BURST: Final = 100
WORD_SECONDS: Final = 0.05
"""More new phases than this are a rush, in which first words are held back."""
DEBT: Final = 40.0
"""Phases change by the dozen, with each cycle of the scheduler: a rush goes on through the pauses between cycles."""
LOOK_SECONDS: Final = 5.0
"""So often somebody has to ask for `overdue` while there are `unsaid` words."""


class StatusPace:
    """Shared by all jobs."""

    def __init__(self) -> None:
        self._numbers = Bucket(0.0, BURST, REFILL_SECONDS)
        self._rush = Rush(0.0, WORD_BURST, WORD_SECONDS, DEBT)
        self.unsaid: dict[str, None] = {}
        """Keys of the jobs whose first word is held back, the oldest first."""

    def hold_seconds(self, job: Job, plan: Plan, written_at: float, now: float) -> float:
        """How long to hold back the status of `plan`; 0 to write it now."""
        if plan.status is None:
            return 0.0
        soon, late = patience = _patience(job, plan, plan.status)
        in_a_rush = patience is not COUNTERS and self._rush.begins_or_lasts(now)
        due = written_at + soon
        if due <= now < written_at + late and (in_a_rush if patience is FIRST_WORD else not self._numbers.take(now)):
            due = written_at + late
        if patience is FIRST_WORD and due > now:
            self.unsaid[job.metadata.key] = None
        else:
            self.unsaid.pop(job.metadata.key, None)
        return max(due - now, 0.0)

    def overdue(self, now: float) -> list[str]:
        """The jobs whose first word may be said now: none in a rush, and no more at once than would be a new one."""
        keys = list(islice(self.unsaid, self._rush.spare(now)))
        for key in keys:
            del self.unsaid[key]
        return keys


def _patience(job: Job, plan: Plan, status: JobStatus) -> Seconds:
    if plan.evict:
        return AT_ONCE
    if not job.status.state.phase and status.state.phase == Phase.PENDING:
        return FIRST_WORD
    return COUNTERS if counts.only_counters_differ(job.status, status) else AT_ONCE
