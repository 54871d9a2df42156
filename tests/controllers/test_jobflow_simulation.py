"""Flows where network, jobs and users misbehave: steps keep their order, run once, and come to an end."""

from __future__ import annotations

import os
import time

import pytest

from tests.controllers.simulation.flow_life import Flows
from tests.controllers.simulation.world import lived

STEPS = 60
SOAK_STEPS = int(os.environ.get("VOLCANO_SOAK_STEPS", "300_000"))


def test_whatever_happens_steps_keep_their_order() -> None:
    for seed in range(60):
        lived(Flows, seed, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_random_steps() -> None:
    first = int(os.environ.get("VOLCANO_SEED", time.time_ns() % 1_000_000_000))
    print(f"VOLCANO_SEED={first} VOLCANO_SOAK_STEPS={SOAK_STEPS}")
    for number in range(SOAK_STEPS // STEPS):
        lived(Flows, first + number, STEPS)
