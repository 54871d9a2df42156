"""Cronjobs where network, clock and users misbehave: no time runs twice, policies and limits hold, nothing sticks."""

from __future__ import annotations

import os
import time

import pytest

from tests.controllers.simulation.cron_life import Cronjobs
from tests.controllers.simulation.world import lived

STEPS = 60
SOAK_STEPS = int(os.environ.get("VOLCANO_SOAK_STEPS", "300_000"))


def test_whatever_happens_every_time_runs_once() -> None:
    for seed in range(40):
        lived(Cronjobs, seed, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_random_steps() -> None:
    first = int(os.environ.get("VOLCANO_SEED", time.time_ns() % 1_000_000_000))
    print(f"VOLCANO_SEED={first} VOLCANO_SOAK_STEPS={SOAK_STEPS}")
    for number in range(SOAK_STEPS // STEPS):
        lived(Cronjobs, first + number, STEPS)
