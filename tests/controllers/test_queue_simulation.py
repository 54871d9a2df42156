"""A tree of queues, closed and opened under load where network and clock misbehave: states spread, nothing sticks."""

from __future__ import annotations

from tests.controllers.simulation.queue_life import Queues
from tests.controllers.simulation.world import lived


def test_whatever_happens_the_tree_of_queues_agrees_with_itself() -> None:
    for seed in range(40):
        lived(Queues, seed, 60)
