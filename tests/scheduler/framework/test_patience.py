"""Of a wait nobody hears that ends with the next cycle; of a longer one everybody who has to."""

from __future__ import annotations

from volcano.scheduler.framework.decisions import Decisions
from volcano.scheduler.framework.options import Options
from volcano.testing.builders import gang, node, priority_class
from volcano.testing.world import World

PREEMPTING = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang, enableJobStarving: false}]
"""
PATIENT = Options(patience_seconds=1.0)


def told(decisions: Decisions) -> bool:
    """Whether users hear of the wait: all three ways at once, or none."""
    group = decisions.podgroups["default/train"]
    ways = {bool(decisions.pods), bool(decisions.events), any(one.type == "Unschedulable" for one in group.conditions)}
    assert len(ways) == 1
    return ways.pop()


def cycle_at(world: World, now: float) -> bool:
    world.now = now
    return told(world.cycle())


def test_a_wait_is_told_when_it_has_lasted_and_then_now_and_again() -> None:
    world = World(nodes=[node("n1", cpu=2)], jobs=[gang("train", pods=3, cpu=1)], options=PATIENT)

    assert [now for now in range(13) if cycle_at(world, now)] == [1, 6, 11]


def test_a_gang_does_not_wait_while_its_pods_are_being_made() -> None:
    train = gang("train", pods=5, cpu=1)
    world = World(nodes=[node("n1", cpu=2)], options=PATIENT)
    world.add("podgroups", train.pod_group)
    for now, pod in enumerate(train.pods):
        world.add("pods", pod)
        assert not cycle_at(world, now)

    assert cycle_at(world, len(train.pods))


def test_a_job_that_got_what_it_wanted_begins_to_wait_anew() -> None:
    world = World(nodes=[node("n1", cpu=2)], jobs=[gang("train", pods=3, cpu=1)], options=PATIENT)
    assert not cycle_at(world, 0)
    world.add("nodes", node("n2", cpu=1))
    assert not cycle_at(world, 5)
    assert len(world.cluster.jobs["default/train"].pending) == 0

    world.add("pods", *gang("train", pods=4, cpu=1).pods[3:])

    assert not cycle_at(world, 6)


def test_where_others_go_for_a_pod_is_told_at_once() -> None:
    world = World(
        nodes=[node("n1", cpu=2)],
        jobs=[
            gang("small", pods=2, nodes=["n1", "n1"], min_available=1, cpu=1, phase="Running"),
            gang("train", pods=1, cpu=1, priority_class="high"),
        ],
        priority_classes=[priority_class("high", 1000)],
        conf=PREEMPTING,
        options=PATIENT,
    )

    decisions = world.cycle()

    assert [(pod.name, pod.nominated_node) for pod in decisions.pods] == [("train-worker-0", "n1")]
    assert len(decisions.evictions) == 1


def test_the_impatient_are_told_at_once() -> None:
    world = World(nodes=[node("n1", cpu=2)], jobs=[gang("train", pods=3, cpu=1)])

    assert cycle_at(world, 0)
