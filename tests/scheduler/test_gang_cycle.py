"""Gangs through whole cycles: all or nothing, and reasons with numbers."""

from __future__ import annotations

from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.testing.builders import gang, node, pod
from volcano.testing.world import World

GANG_ONLY = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"


def test_a_gang_that_fits_is_bound_whole():
    world = World(nodes=[node("n1", cpu=2), node("n2", cpu=2)], jobs=[gang("train", pods=3, cpu=1)])

    decisions = world.cycle()

    assert set(decisions.binds) == {f"default/train-worker-{i}" for i in range(3)}
    assert decisions.reason("train") is None


def test_a_gang_that_does_not_fit_binds_nothing_and_says_why():
    world = World(nodes=[node("n1", cpu=2)], jobs=[gang("train", pods=3, cpu=1)])

    decisions = world.cycle()

    assert decisions.binds == {}
    reason = decisions.reason("train")
    assert reason == Reason(Stage.GANG, "NotEnoughResources", need=3, have=2)
    assert reason.cause == Reason(Stage.QUEUE, "ClusterFull", need=3000, have=2000)


def test_a_gang_that_no_node_takes_is_told_so_in_upstreams_words():
    decisions = World(nodes=[node("n1", cpu=2)], jobs=[gang("train", pods=3, cpu=1)], conf=GANG_ONLY).cycle()

    reason = decisions.reason("train")
    assert reason == Reason(Stage.GANG, "NotEnoughResources", need=3, have=2)
    assert reason.nodes == (("Insufficient cpu", 1),)
    assert decisions.podgroups["default/train"].conditions[0].message == (
        "1/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; "
        "Pending: 1 Unschedulable, 2 Schedulable. "
        "Origin reason is train-worker-2: 0/1 nodes are unavailable: 1 Insufficient cpu."
    )


def test_an_elastic_job_takes_what_there_is_beyond_its_minimum():
    world = World(nodes=[node("n1", cpu=3)], jobs=[gang("train", pods=5, min_available=2, cpu=1)])

    assert len(world.cycle().binds) == 3


def test_a_gang_that_failed_leaves_no_trace():
    world = World(nodes=[node("n1", cpu=2)], jobs=[gang("train", pods=3, cpu=1)])
    before = world.cluster.nodes.idle.copy()

    world.cycle()

    assert (world.cluster.nodes.idle == before).all()
    assert not world.cluster.nodes.tasks[0]


def test_a_smaller_gang_gets_what_a_larger_one_could_not_use():
    world = World(
        nodes=[node("n1", cpu=2)],
        jobs=[gang("large", pods=3, cpu=1), gang("small", pods=2, cpu=1, created=10)],
    )

    assert set(world.cycle().binds) == {"default/small-worker-0", "default/small-worker-1"}


def test_a_gang_that_lost_a_member_is_healed_before_others_start():
    older = gang("older", pods=1, cpu=1, created=0, phase="Inqueue")
    broken = gang("broken", pods=2, cpu=1, nodes=["n1", "n1"], created=1, phase="Running")
    world = World(nodes=[node("n1", cpu=2)], jobs=[older, broken], conf=GANG_ONLY)
    assert world.cycle().binds == {}

    world.remove("pods", broken.pods[1])
    world.add("pods", pod("broken-again", group="broken", cpu=1))

    assert world.cycle().binds == {"default/broken-again": "n1"}


def test_best_effort_members_are_backfilled():
    members = [pod("train-main-0", group="train", cpu=1), pod("train-side-0", group="train")]
    world = World(nodes=[node("n1", cpu=1)], jobs=[gang("train", pods=members)])

    assert set(world.cycle().binds) == {"default/train-main-0", "default/train-side-0"}
