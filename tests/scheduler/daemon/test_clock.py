"""Clocks that are set, forwards or backwards: what was to happen in a while still happens in that while."""

from __future__ import annotations

import pytest

from volcano.scheduler.cluster.jobs import Wait
from volcano.scheduler.plugins.rescheduling.plugin import LastRun
from volcano.scheduler.plugins.tdm.plugin import LastEviction
from volcano.testing.builders import gang, node, queue
from volcano.testing.world import World


@pytest.mark.parametrize("step", [-86_400.0, 86_400.0])
def test_what_is_due_stays_as_far_away(step: float) -> None:
    world = World(nodes=[node("n")], queues=[queue("default")], jobs=[gang("train", pods=1, cpu=99)])
    cluster = world.cluster
    (job,) = cluster.jobs.values()
    cluster.resting["pod"], job.wait = 105.0, Wait(pods=1, due=110.0)
    cluster.index(LastRun).at, cluster.index(LastEviction).at = 90.0, 80.0

    cluster.shift_times(step)

    assert cluster.resting == {"pod": 105.0 + step}
    assert job.wait == Wait(pods=1, due=110.0 + step)
    assert (cluster.index(LastRun).at, cluster.index(LastEviction).at) == (90.0 + step, 80.0 + step)
