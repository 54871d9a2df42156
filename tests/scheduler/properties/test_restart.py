"""A scheduler that takes over keeps what was promised: nobody is evicted twice for the same pod."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, strategies as st

from tests.scheduler.properties.faults import FAULTS
from tests.scheduler.properties.test_properties import FEWER, HUNDREDS, IdealCluster
from tests.scheduler.properties.test_turns import both, evictions, rivals
from tests.scheduler.properties.worlds import CONFS, WORLDS, Draw, build
from volcano.scheduler.framework.decisions import Decisions
from volcano.testing.world import World

EVICTING = [name for name, conf in CONFS.items() if "preempt" in conf or "reclaim" in conf]
CYCLES = st.integers(1, 4)


@pytest.mark.parametrize("conf", EVICTING)
@FEWER
@given(WORLDS, CYCLES)
def test_what_was_promised_is_kept_by_who_takes_over(conf: str, draw: Draw, after: int) -> None:
    promises_outlive_the_scheduler(conf, draw, after)


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_where_promises_were_broken_once(fault: str) -> None:
    for after in (1, 2, 3):
        promises_outlive_the_scheduler(*FAULTS[fault], after)


def test_who_has_fallen_may_make_others_fall_once_more() -> None:
    """That it fell is known to nobody else: what follows is what would follow from the cluster as it is."""
    world = rivals("gang-eviction", cpus=1, gpus=2)
    world.add_gang(both("old", "gpus", on="n0"))
    world.add_gang(both("new", "cpus"))
    ideal = IdealCluster(world)
    for _ in range(3):
        ideal.settle(world.cycle())

    assert evictions(taking_over(world, ideal)) == [["default/new"], *[[]] * 7]


def test_who_was_promised_room_that_nobody_has_left_yet_takes_it_from_the_same() -> None:
    """The scheduler was killed when it had written for whom it would evict, and had evicted nobody."""
    world = rivals("capacity", cpus=0, gpus=2)
    world.add_gang(both("old", "cpus", on="n0"))
    world.add_gang(both("new", "gpus"))
    ideal = IdealCluster(world)
    decisions = world.cycle()
    nominate(ideal, decisions)

    assert ideal.pods["default/new-0"].status.nominated_node_name == "n0"
    assert taking_over(world, ideal).cycle().evictions == decisions.evictions != []


@pytest.mark.soak
@pytest.mark.parametrize("conf", EVICTING)
@HUNDREDS
@given(WORLDS, CYCLES)
def test_what_was_promised_is_kept_hundreds_of_times(conf: str, draw: Draw, after: int) -> None:
    promises_outlive_the_scheduler(conf, draw, after)


def test_the_node_is_named_for_as_long_as_the_promise_stands() -> None:
    """The first note may be overtaken by the next before it is written."""
    world = build(FAULTS["backfill gave up the place for which another pod had just been evicted"][1], "chart-evicting")

    notes = [[(pod.name, pod.nominated_node) for pod in world.cycle().pods] for _ in range(3)]

    assert notes == [[("g1-0", "n0")]] * 3


def promises_outlive_the_scheduler(conf: str, draw: Draw, after: int) -> None:
    """The scheduler is killed after so many cycles, when all that it decided has been written."""
    world = build(draw, conf)
    ideal = IdealCluster(world)
    nominated: set[str] = set()
    for _ in range(after):
        decisions = world.cycle()
        nominated = nominate(ideal, decisions)
        ideal.settle(decisions)

    heir = taking_over(world, ideal)

    assert nominated <= heir.cycle().binds.keys()


def nominate(ideal: IdealCluster, decisions: Decisions) -> set[str]:
    """Write into pods for whom others go where that is, as the daemon does. Not those that must be admitted first."""
    found = set()
    for verdict in decisions.pods:
        key = f"{verdict.namespace}/{verdict.name}"
        if verdict.nominated_node:
            pod = ideal.pods[key]
            status = msgspec.structs.replace(pod.status, nominated_node_name=verdict.nominated_node)
            ideal.pods[key] = msgspec.structs.replace(pod, status=status)
            found.add(key)
    jobs = ideal.world.cluster.jobs.values()
    return {task.key for job in jobs for task in job.tasks.values() if task.key in found and not job.is_pending}


def taking_over(world: World, ideal: IdealCluster) -> World:
    """The same cluster, before a scheduler that has just come to know it."""
    cluster = world.cluster
    heir = World(
        nodes=[one for one in cluster.nodes.objects if one is not None],
        queues=[queue.object for queue in cluster.queues.values()],
        conf=world.conf,
    )
    for name, value in cluster.priority_classes.items():
        heir.cluster.set_priority_class(name, value)
    heir.add("hypernodes", *cluster.objects["hypernodes"].values())
    heir.add("podgroups", *ideal.groups.values())
    heir.add("pods", *ideal.pods.values())
    return heir
