"""Time that nobody sets: how long something has taken, and how long something else is still to wait.

`times` has the time of day, as objects carry it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

DRIFT_SECONDS = 1.0
"""A clock that is corrected little by little is followed once it is so far away."""


def steady_seconds() -> float:
    """Since some moment; they go on while the machine sleeps, where the system offers such a clock."""
    boottime: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


class SteadyClock:
    """The time of day for who waits: `now` goes on steadily, and only `adjust` sets it."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = steady_seconds) -> None:
        self._wall = wall
        self._steady = steady
        self._offset = wall() - steady()

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._steady() + self._offset

    def adjust(self) -> float:
        """Follow the time of day if somebody has set it. Returns by how many seconds: all is due so much later."""
        step = self._wall() - self.now()
        if abs(step) <= DRIFT_SECONDS:
            return 0.0
        self._offset += step
        return step
