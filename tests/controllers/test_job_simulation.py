"""Random histories under the real controllers, where network and clock misbehave.

What is drawn is in simulation/*_life.py; `lived(Jobs, seed, steps)` repeats a history.
"""

from __future__ import annotations

import pytest

from tests.controllers.simulation.job_life import Jobs
from tests.controllers.simulation.soaking import STEPS, soak
from tests.controllers.simulation.world import lived


@pytest.mark.parametrize("block", range(4))
def test_whatever_happens_jobs_stay_true_and_come_to_an_end(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        lived(Jobs, seed, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_million_random_steps() -> None:
    soak(Jobs, 1_000_000)
