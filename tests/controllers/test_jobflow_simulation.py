"""Flows where network, jobs and users misbehave: steps keep their order, run once, and come to an end."""

from __future__ import annotations

import pytest

from tests.controllers.simulation.flow_life import Flows
from tests.controllers.simulation.soaking import STEPS, soak
from tests.controllers.simulation.world import lived


def test_whatever_happens_steps_keep_their_order() -> None:
    for seed in range(40):
        lived(Flows, seed, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_random_steps() -> None:
    soak(Flows, 300_000)
