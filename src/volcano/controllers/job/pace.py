"""When a job's status is written: what is urgent at once, what is not a little later, and later still in a rush.

Used by controller.py: what is held back is decided anew, and newer news goes with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from volcano.controllers.job import counts
from volcano.controllers.job.vocabulary import Phase
from volcano.kube.bucket import Bucket

if TYPE_CHECKING:
    from volcano.api.batch import Job
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
"""More of what may wait than this is a rush."""
WORD_BURST: Final = 100
WORD_SECONDS: Final = 2.0
"""The same for first words: few need one at once, when each of very many jobs gets it with its second. Of a few dozen
jobs that wait each says so."""


class StatusPace:
    """Shared by all jobs."""

    def __init__(self) -> None:
        self._numbers = Bucket(BURST, 0.0)
        self._words = Bucket(WORD_BURST, 0.0)

    def hold_seconds(self, job: Job, plan: Plan, written_at: float, now: float) -> float:
        """How long to hold back the status of `plan`; 0 to write it now."""
        soon, late = patience = _patience(job, plan)
        due = written_at + soon
        if due <= now < written_at + late and not self._may_speak(patience, now):
            due = written_at + late
        return max(due - now, 0.0)

    def _may_speak(self, patience: Seconds, now: float) -> bool:
        if patience is FIRST_WORD:
            return self._words.take(now, WORD_BURST, WORD_SECONDS)
        return self._numbers.take(now, BURST, REFILL_SECONDS)


def _patience(job: Job, plan: Plan) -> Seconds:
    status = plan.status
    if status is None or plan.evict:
        return AT_ONCE
    if not job.status.state.phase and status.state.phase == Phase.PENDING:
        return FIRST_WORD
    return COUNTERS if counts.only_counters_differ(job.status, status) else AT_ONCE
