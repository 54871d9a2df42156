"""The time of day, and when somebody has set it. Used by `server`: decisions compare times of day with one another."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

DRIFT_SECONDS: Final = 1.0
"""A clock that is being adjusted gains or loses less than this between two looks."""


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
