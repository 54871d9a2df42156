"""Evictions on purpose on a cluster that nobody touches: by the clock, by measured load, and no others."""

from __future__ import annotations

import datetime

import pytest

from tests.scheduler.properties.test_properties import IdealCluster
from tests.scheduler.properties.worlds import PAGES
from volcano.api import keys
from volcano.scheduler.cluster.usage import Measured, NodeUsage
from volcano.testing.builders import gang, node, pod
from volcano.testing.world import World

NOON = datetime.datetime.fromisoformat("2026-01-05T12:00:00").timestamp()


def evicted(world: World, *, every_seconds: float, cycles: int) -> list[int]:
    """How many pods were evicted, cycle by cycle; who had to go is made anew, and runs where it was bound."""
    ideal = IdealCluster(world)
    found = []
    for _ in range(cycles):
        decisions = world.cycle()
        found.append(len(decisions.evictions))
        ideal.settle(decisions)
        world.now += every_seconds
    return found


def test_nodes_whose_window_has_closed_are_cleared_once() -> None:
    movable = {keys.PREEMPTABLE: "true"}
    pods = [pod(f"m-{i}", group="m", cpu=1, node="night", annotations=movable) for i in range(2)]
    world = World(
        nodes=[node("night", cpu=4, labels={keys.REVOCABLE_ZONE: "nightly"}), node("day", cpu=4)],
        jobs=[gang("m", pods=pods, min_available=0, phase="Running")],
        conf=PAGES["plugins/tdm"],
        now=NOON,
    )

    assert sum(evicted(world, every_seconds=61, cycles=6)) == 2
    assert {task.node_name for task in world.cluster.tasks.values()} == {"day"}


@pytest.mark.parametrize(("every_seconds", "rounds"), [(1, [0] * 6), (601, [0, *[3] * 5])])
def test_crowded_nodes_are_relieved_once_an_interval_while_they_measure_as_crowded(
    every_seconds: float, rounds: list[int]
) -> None:
    """No measurement follows here: to the strategy nothing has changed, so it goes on, at its own pace."""
    world = World(
        nodes=[node("crowded", cpu=10), node("idle", cpu=20)],
        jobs=[gang("a", pods=18, min_available=1, cpu=1, memory="1Gi", nodes=["crowded"] * 10, phase="Running")],
        conf=PAGES["plugins/rescheduling"],
        now=NOON,
    )
    usage = world.cluster.index(NodeUsage)
    usage.put("crowded", Measured(cpu_percent=105, memory_percent=20, at=NOON))
    usage.put("idle", Measured(cpu_percent=10, memory_percent=10, at=NOON))

    assert evicted(world, every_seconds=every_seconds, cycles=6) == rounds
