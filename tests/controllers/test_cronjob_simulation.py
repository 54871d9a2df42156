"""Cronjobs where network, clock and users misbehave: no time runs twice, policies and limits hold, nothing sticks."""

from __future__ import annotations

import pytest

from tests.controllers.simulation.cron_life import Cronjobs
from tests.controllers.simulation.soaking import STEPS, soak
from tests.controllers.simulation.world import lived


def test_whatever_happens_every_time_runs_once() -> None:
    for seed in range(40):
        lived(Cronjobs, seed, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_random_steps() -> None:
    soak(Cronjobs, 300_000)
