"""How late a status may be: hardly at all as a rule; in a rush, what nobody waits for is held back until it is over.

Used by statuses.py. What is held back is written as it is by then: a group that was admitted, placed and runs costs the
API server one write for all of that, at a time when it has little else to do.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, Final

from volcano.api.keys import POD_GROUP_PREFIX
from volcano.api.scheduling import SCHEDULED
from volcano.kube.bucket import Bucket, Rush
from volcano.scheduler.cluster.jobs import INQUEUE, RUNNING
from volcano.scheduler.framework.decisions import PodGroupDecision

Seconds = tuple[float, float]
"""As a rule, and at most while very many change."""

PATIENCE_SECONDS: Final = 1.0
"""What will change again in a moment waits for that."""
LOOK_SECONDS: Final = 5.0
"""In a rush, so often it is asked whether it is over, and what is due."""

AT_ONCE: Final[Seconds] = (0.0, 0.0)
NUMBERS: Final[Seconds] = (PATIENCE_SECONDS, LOOK_SECONDS)
RUNS: Final[Seconds] = (0.0, 180.0)
"""Whoever made the pods sees them run."""
SETTLES: Final[Seconds] = (PATIENCE_SECONDS, 180.0)

COUNTERS: Final = frozenset({"running", "succeeded", "failed", "allocated"})
SETTLING: Final = COUNTERS | {"phase", "conditions"}
"""What changes again when the pods of a group that has been placed run."""

BURST: Final = 100
REFILL_SECONDS: Final = 0.05
"""More than `BURST` statuses that may wait are a rush, and so is more than one per `REFILL_SECONDS` in the long run."""
DEBT: Final = 40.0
"""Statuses come by the dozen, with each cycle: a rush goes on through the pauses between cycles."""

AFTERWARDS_SECONDS: Final = 0.005
"""After a rush, so many seconds for each that was held back: the API server has others to serve, too."""
TURN_SECONDS: Final = 0.2
"""So long apart: together they cost this process less than one by one."""


def lateness(live: Any, wanted: Any, news: Set[str]) -> Seconds:
    """Of these fields of a status; `live` is the object, `wanted` what was decided about it."""
    if news <= COUNTERS:
        return NUMBERS
    if not isinstance(wanted, PodGroupDecision) or not news <= SETTLING:
        return AT_ONCE
    made_for_pods = live.metadata.name.startswith(POD_GROUP_PREFIX)
    if made_for_pods and news == {"phase"} and wanted.phase == INQUEUE:
        return SETTLES  # nobody waits to hear that they may be made
    if any(condition.type != SCHEDULED for condition in wanted.conditions):
        return AT_ONCE
    is_admitted = made_for_pods or live.status.phase in (INQUEUE, RUNNING)
    if wanted.is_settling and wanted.phase in (INQUEUE, RUNNING):
        return SETTLES if is_admitted else NUMBERS
    return RUNS if wanted.phase == RUNNING and is_admitted else AT_ONCE


class StatusRush(Rush):
    """A rush of statuses, and the time after it, when those that were held back are written."""

    def __init__(self, now: float) -> None:
        super().__init__(now, BURST, REFILL_SECONDS, DEBT)
        self._afterwards = Bucket(now, BURST, AFTERWARDS_SECONDS)

    def turns(self, now: float, waiting: int) -> int:
        """How many of those that were held back are written now: none before the rush is over."""
        if self.lasts(now):
            return 0
        turns = min(waiting, self._afterwards.count(now))
        for _ in range(turns):
            self._afterwards.take(now)
        return turns
