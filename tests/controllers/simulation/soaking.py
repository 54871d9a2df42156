"""Histories without an end: VOLCANO_SOAK_STEPS steps of them, from VOLCANO_SEED on."""

from __future__ import annotations

import os
import time

from tests.controllers.simulation.world import World, lived

STEPS = 60
"""Of one history."""
REPORTED = 1000


def soak(world: type[World], steps: int) -> None:
    """Live one history after the other, until all have had so many steps; the first seed is printed."""
    steps = int(os.environ.get("VOLCANO_SOAK_STEPS", steps))
    first = int(os.environ.get("VOLCANO_SEED", time.time_ns() % 1_000_000_000))
    print(f"VOLCANO_SEED={first} VOLCANO_SOAK_STEPS={steps}")
    for number in range(steps // STEPS):
        lived(world, first + number, STEPS)
        if number % REPORTED == REPORTED - 1:
            print(f"{(number + 1) * STEPS} steps", flush=True)
