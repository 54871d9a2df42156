"""The time of day, and when somebody has set it.

The scheduler compares times of day with one another; controllers wait, on timers, for a time of day to come.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

DRIFT_SECONDS: Final = 1.0
"""A clock that is being adjusted gains or loses less than this between two looks."""
LOOK_SECONDS: Final = 2.0


class WallClock:
    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._offset = wall() - steady()

    def read(self) -> tuple[float, float]:
        """The time of day, and by how much it was set since the last look: 0 unless by more than adjusting does."""
        now = self._wall()
        offset = now - self._steady()
        step, self._offset = offset - self._offset, offset
        return now, step if abs(step) > DRIFT_SECONDS else 0.0


class ClockWatch:
    """Tells whoever waits for a time of day when the clock was set: it may have come already, or be further away."""

    def __init__(self, clock: WallClock | None = None) -> None:
        self._clock = clock or WallClock()
        self._waiting: list[Callable[[], None]] = []

    def tell(self, clock_was_set: Callable[[], None]) -> None:
        self._waiting.append(clock_was_set)

    async def look(self) -> None:
        """Look every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            _, step = self._clock.read()
            if step:
                log.warning("the clock of this machine was set by %+.1f s", step)
                for clock_was_set in self._waiting:
                    clock_was_set()
