"""How long the scheduler rests between cycles: hardly at all for one person's job, longer in a rush.

Used by server.py. What comes meanwhile is decided together, and binds and statuses get on.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from volcano.kube.bucket import Rush

DEBOUNCE_SECONDS: Final = 0.010
"""A burst of changes arrives within this time."""
REST: Final = 4.0
"""A cycle is followed by a pause so many times as long as the processor needed for it."""
LONGEST_SECONDS: Final = 1.0
REMEMBERED: Final = 3
"""One long cycle among so many is an exception, not a load: its length does not count."""
BURST: Final = 25
REFILL_SECONDS: Final = 0.3
"""More cycles at once than `BURST` are a rush, and so is more than one per `REFILL_SECONDS` in the long run."""
RUSH_SECONDS: Final = 0.3
"""The pause in a rush. Everything a cycle does once is then done for many pods."""


class CyclePace:
    def __init__(self, now: float) -> None:
        self._costs: deque[float] = deque(maxlen=REMEMBERED)
        self._rush = Rush(now, BURST, REFILL_SECONDS)

    def cost(self, seconds: float) -> None:
        """The last cycle took so many seconds of a processor."""
        self._costs.append(seconds)

    def pause_seconds(self, now: float) -> float:
        """How long to wait, once something has changed, before the next cycle."""
        rest = min(REST * min(self._costs, default=0.0), LONGEST_SECONDS)
        if rest >= RUSH_SECONDS or not self._rush.begins_or_lasts(now):
            return max(rest, DEBOUNCE_SECONDS)
        return RUSH_SECONDS
