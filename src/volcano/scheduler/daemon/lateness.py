"""How late a status may be: hardly at all as a rule, until the rush is over for what nobody waits for in one.

Used by statuses.py. Whatever is held back is written as it is by then: in a rush a group that was admitted, placed and
runs costs the API server one write for all of that, and when it has the time for it.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, Final

from volcano.api.keys import POD_GROUP_PREFIX
from volcano.api.scheduling import SCHEDULED
from volcano.kube.bucket import Bucket
from volcano.scheduler.cluster.jobs import INQUEUE, RUNNING
from volcano.scheduler.framework.decisions import PodGroupDecision

Seconds = tuple[float, float]
"""As a rule, and at most while very many change."""

PATIENCE_SECONDS: Final = 1.0
"""What will change again in a moment waits for that."""
LOOK_SECONDS: Final = 5.0
"""In a rush, so often it is asked whether it is over."""

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
"""So many come at once, with a cycle, and in a rush none of them is an exception."""

AFTERWARDS_SECONDS: Final = 0.01
"""After a rush one of those that were held back is written in each: the API server has others to serve, too."""


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


class Rush:
    """Whether very many statuses change at present."""

    def __init__(self, now: float) -> None:
        self._allowance = Bucket(BURST, now)
        self._afterwards = Bucket(BURST, now)

    def begins_or_lasts(self, now: float) -> bool:
        """One more status changes."""
        return not self._allowance.take_or_owe(now, BURST, REFILL_SECONDS, debt=DEBT)

    def lasts(self, now: float) -> bool:
        return not self._allowance.has_one(now, BURST, REFILL_SECONDS)

    def holds(self, now: float) -> bool:
        """Whether something that was held back is still to wait: it is told when the rush is over, not all at once."""
        return self.lasts(now) or not self._afterwards.take(now, BURST, AFTERWARDS_SECONDS)
