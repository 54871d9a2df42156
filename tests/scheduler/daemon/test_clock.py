"""Clocks that are set, forwards or backwards: what was to happen in a while still happens in that while."""

from __future__ import annotations

import pytest

from volcano.scheduler.cluster.jobs import Wait
from volcano.scheduler.daemon.clock import WallClock
from volcano.scheduler.plugins.rescheduling.plugin import LastRun
from volcano.scheduler.plugins.tdm.plugin import LastEviction
from volcano.testing.builders import gang, node, queue
from volcano.testing.world import World


class Clocks:
    """A wall clock beside a steady one."""

    def __init__(self) -> None:
        self.wall, self.steady = 1e9, 50.0

    def passes(self, seconds: float, gained: float = 0.0) -> None:
        self.steady += seconds
        self.wall += seconds + gained


def test_only_a_step_is_one() -> None:
    clocks = Clocks()
    clock = WallClock(lambda: clocks.wall, lambda: clocks.steady)
    clocks.passes(3600)
    assert clock.read() == (clocks.wall, 0.0)
    clocks.passes(10, gained=0.5)
    assert clock.read() == (clocks.wall, 0.0)
    clocks.passes(1, gained=-7200)
    assert clock.read() == (clocks.wall, -7200)
    clocks.passes(1)
    assert clock.read() == (clocks.wall, 0.0)


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
