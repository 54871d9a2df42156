"""Random histories under the real controllers, where network and clock misbehave.

What is drawn is in simulation/*_life.py; `lived(Jobs, seed, steps)` repeats a history.
"""

from __future__ import annotations

import os
import time

import pytest

from tests.controllers.simulation.job_life import Jobs
from tests.controllers.simulation.world import lived

STEPS = 60
SOAK_STEPS = int(os.environ.get("VOLCANO_SOAK_STEPS", "1_000_000"))


@pytest.mark.parametrize("block", range(4))
def test_whatever_happens_jobs_stay_true_and_come_to_an_end(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        lived(Jobs, seed, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_million_random_steps() -> None:
    first = int(os.environ.get("VOLCANO_SEED", time.time_ns() % 1_000_000_000))
    print(f"VOLCANO_SEED={first} VOLCANO_SOAK_STEPS={SOAK_STEPS}")
    for number in range(SOAK_STEPS // STEPS):
        lived(Jobs, first + number, STEPS)
        if number % 1000 == 999:
            print(f"{(number + 1) * STEPS} steps", flush=True)
