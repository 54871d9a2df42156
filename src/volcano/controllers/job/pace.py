"""When a job's status is written: what is urgent at once, what is not a little later, and later still in a rush.

Used by controller.py: what is held back is decided anew, and newer news goes with it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from volcano.controllers.job import counts
from volcano.controllers.job.vocabulary import Phase
from volcano.kube.bucket import Bucket

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
"""More numbers than this are a rush."""
WORD_BURST: Final = 100
WORD_SECONDS: Final = 0.05
"""More phases than this, of the first word on, are a rush for first words: they wait for its end."""
DEBT: Final = 40.0
"""So many come together, and in a rush none of them is an exception."""
LOOK_SECONDS: Final = 5.0
"""So often somebody has to ask for `overdue` while there are `unsaid` words."""


class StatusPace:
    """Shared by all jobs."""

    def __init__(self) -> None:
        self._numbers = Bucket(BURST, 0.0)
        self._phases = Bucket(WORD_BURST, 0.0)
        self.unsaid: dict[str, None] = {}
        """Keys of the jobs whose first word is held back, the oldest first."""

    def hold_seconds(self, job: Job, plan: Plan, written_at: float, now: float) -> float:
        """How long to hold back the status of `plan`; 0 to write it now."""
        if plan.status is None:
            return 0.0
        soon, late = patience = _patience(job, plan, plan.status)
        is_calm = patience is COUNTERS or self._phases.take_or_owe(now, WORD_BURST, WORD_SECONDS, debt=DEBT)
        due = written_at + soon
        if due <= now < written_at + late and not self._may_speak(patience, is_calm, now):
            due = written_at + late
        if patience is FIRST_WORD and due > now:
            self.unsaid[job.metadata.key] = None
        else:
            self.unsaid.pop(job.metadata.key, None)
        return max(due - now, 0.0)

    def overdue(self, now: float) -> list[str]:
        """Whose first word may be said by now, for the rush is over; not more at once than would be one."""
        count = self._phases.whole_tokens(now, WORD_BURST, WORD_SECONDS)
        keys = list(islice(self.unsaid, count))
        for key in keys:
            del self.unsaid[key]
        return keys

    def _may_speak(self, patience: Seconds, is_calm: bool, now: float) -> bool:
        return is_calm if patience is FIRST_WORD else self._numbers.take(now, BURST, REFILL_SECONDS)


def _patience(job: Job, plan: Plan, status: JobStatus) -> Seconds:
    if plan.evict:
        return AT_ONCE
    if not job.status.state.phase and status.state.phase == Phase.PENDING:
        return FIRST_WORD
    return COUNTERS if counts.only_counters_differ(job.status, status) else AT_ONCE
