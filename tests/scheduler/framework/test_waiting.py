"""Every job that waits has one record: stage, code, numbers, who is in the way, and what would change it."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from volcano.api.batch import NetworkTopologySpec
from volcano.api.core import PodSchedulingGate
from volcano.api.topology import HyperNode
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.remedies import remedy
from volcano.testing.builders import Gang, at, gang, node, pod, queue
from volcano.testing.world import World

GANG = "actions: ACTIONS\ntiers:\n- plugins: [{name: priority}, {name: gang}, {name: PLUGIN}]\n"


def conf(actions: str = "allocate", plugin: str = "predicates") -> str:
    return GANG.replace("ACTIONS", f'"{actions}"').replace("PLUGIN", plugin)


def waits(world: World, job: str = "train") -> Reason:
    reason = world.cycle().reason(job)
    assert reason is not None
    assert remedy(reason)
    return reason


def test_a_job_whose_room_is_promised_waits_for_those_that_leave() -> None:
    leaving = pod("leaving", group="old", node="n1", cpu=2)
    leaving.metadata.deletion_timestamp = at(1)
    old = Gang(gang("old", pods=0).pod_group, (leaving,))
    world = World(nodes=[node("n1", cpu=2)], jobs=[old, gang("train", pods=2, cpu=1)], conf=conf())

    reason = waits(world)

    assert reason == Reason(Stage.GANG, "WaitingForRoom", need=2, have=0, blocker="n1")
    assert str(reason).startswith("2 of its pods have room promised on n1")
    assert "gone from n1" in remedy(reason)


def test_a_job_without_pods_lacks_them() -> None:
    reason = waits(World(nodes=[node("n1")], jobs=[gang("train", pods=0, min_available=3)], conf=conf()))

    assert reason == Reason(Stage.GANG, "NotEnoughTasks", need=3, have=0)


def test_gates_are_named() -> None:
    job = gang("train", pods=2, cpu=1)
    for member in job.pods:
        member.spec.scheduling_gates = [PodSchedulingGate(name="example.com/licence")]
    reason = waits(World(nodes=[node("n1")], jobs=[job], conf=conf()))

    assert reason == Reason(Stage.GANG, "SchedulingGated", need=2, have=0, blocker="default/train-worker-0")
    assert "example.com/licence" in str(reason)


@pytest.mark.parametrize("minimum", [0, 2])
def test_pods_that_ask_for_nothing_wait_for_backfill(minimum: int) -> None:
    job = gang("train", pods=2, min_available=minimum)
    reason = waits(World(nodes=[node("n1")], jobs=[job], conf=conf("allocate")))

    assert reason == Reason(Stage.GANG, "NotTried", need=minimum, have=0)
    assert "backfill" in remedy(reason)


def test_pods_that_ask_for_nothing_and_are_placed_wait_for_nothing() -> None:
    world = World(nodes=[node("n1")], jobs=[gang("train", pods=2)], conf=conf("allocate, backfill"))

    assert world.cycle().reason("train") is None


def test_the_first_pod_that_was_looked_at_speaks_for_all() -> None:
    """Not one that was passed over because another of its role had failed."""
    leaving = pod("leaving", group="old", node="n1", cpu=1)
    leaving.metadata.deletion_timestamp = at(1)
    old = Gang(gang("old", pods=0).pod_group, (leaving,))
    train = gang("train", pods=3, min_available=2, cpu=1, role="worker")
    reason = waits(World(nodes=[node("n1", cpu=1)], jobs=[old, train], conf=conf()))

    assert reason.cause is not None
    assert reason.cause.nodes == (("Insufficient cpu", 1),)
    assert remedy(reason).startswith("ask for less cpu")


def test_a_job_that_lost_its_pods_is_not_told_that_it_was_never_let_in() -> None:
    job = gang("train", pods=2, cpu=8, phase="Running")
    world = World(nodes=[node("n1", cpu=4)], jobs=[job], conf=conf("enqueue, allocate"))

    decisions = world.cycle()

    assert decisions.podgroups["default/train"].phase == "Pending"
    reason = decisions.reason("train")
    assert reason is not None
    assert reason.nodes == (("Insufficient cpu", 1),)


def test_a_queue_that_uses_what_it_deserves_is_in_the_way() -> None:
    running = gang("running", cpu=4, memory="4Gi", nodes=["n1"], phase="Running")
    jobs = [running, gang("train", cpu=1, memory="1Gi"), gang("other", cpu=4, memory="4Gi", queue="other")]
    queues = [queue("default"), queue("other")]
    nodes = [node("n1", cpu=4, memory="4Gi", pods=2)]
    reason = waits(World(nodes=nodes, queues=queues, jobs=jobs, conf=conf("allocate", "proportion")))

    assert reason == Reason(Stage.QUEUE, "QueueOverused", blocker="default")


def test_no_domain_is_large_enough() -> None:
    document = {
        "metadata": {"name": "rack"},
        "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}]},
    }
    job = gang("train", pods=2, cpu=8, min_resources={"cpu": 16})
    job.pod_group.spec.network_topology = NetworkTopologySpec(mode="hard", highest_tier_allowed=1)
    world = World(nodes=[node("n1"), node("n2")], jobs=[job], conf=conf("allocate", "network-topology-aware"))
    world.add("hypernodes", msgspec.convert(document, HyperNode))
    reason = waits(world)

    assert reason == Reason(Stage.TOPOLOGY, "NoDomainFits", need=2, have=0)


def innermost(reason: Reason) -> Reason:
    return reason if reason.cause is None else innermost(reason.cause)


@pytest.mark.parametrize(("phase", "members"), [("Pending", 0), ("Inqueue", 1)])
def test_a_job_that_is_larger_than_the_cluster_is_not_told_to_wait(phase: str, members: int) -> None:
    job = gang("train", pods=members, min_available=1, cpu=40, min_resources={"cpu": 40}, phase=phase)
    conf = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: overcommit}, {name: predicates}]\n"
    world = World(nodes=[node("n1", cpu=4)], jobs=[job], conf=conf)
    world.options = replace(world.options, full_report=True)

    reason = waits(world)

    cause = innermost(reason)
    assert cause.code == ("LargerThanAnyNode" if members else "LargerThanCluster")
    assert cause.amounts == ("40", "4")
    assert "it can never start" in str(cause)
    assert "the largest of 1 nodes has 4" in str(cause)
    assert remedy(reason).endswith("waiting does not help")


GPU = "nvidia.com/gpu"
OVERCOMMIT = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: overcommit}, {name: predicates}]\n"


@pytest.mark.parametrize(("phase", "members", "used"), [("Pending", 0, 4), ("Pending", 1, 4), ("Inqueue", 1, 0)])
def test_what_no_node_has_is_not_waited_for(phase: str, members: int, used: int) -> None:
    """Where CPU is short as well: that would come."""
    running = gang("running", cpu=used, pods=2, nodes=["n1", "n2"], phase="Running")
    minimum = {"cpu": 4, GPU: 1}
    job = gang("train", pods=members, min_available=1, cpu=4, resources={GPU: 1}, min_resources=minimum, phase=phase)
    world = World(nodes=[node("n1", cpu=4), node("n2", cpu=4)], jobs=[running, job], conf=OVERCOMMIT)
    world.options = replace(world.options, full_report=True)

    reason = waits(world)

    cause = innermost(reason)
    assert (cause.resource, cause.need, cause.have) == (GPU, 1000, 0)
    assert str(cause).startswith("it can never start: ")
    assert str(cause).endswith(f"asks for {GPU} 1, and none of 2 nodes has any")
    assert remedy(reason) == f"ask for no {GPU}, or add nodes that have it: waiting does not help"


@pytest.mark.parametrize(("members", "is_larger"), [(9, True), (8, False)])
def test_a_gang_that_all_nodes_together_cannot_hold_is_not_told_to_wait(members: int, is_larger: bool) -> None:
    """Admitted for somewhat more than there is; each member alone would fit."""
    running = gang("running", cpu=1, nodes=["n1"], phase="Running")
    job = gang("train", pods=10, min_available=members, cpu=1)
    world = World(nodes=[node("n1", cpu=4), node("n2", cpu=4)], jobs=[running, job], conf=conf())
    world.options = replace(world.options, full_report=True)

    reason = waits(world)

    cause = innermost(reason)
    assert cause.code == ("LargerThanCluster" if is_larger else "NoNodeFits")
    if is_larger:
        assert str(cause) == "it can never start: its minimum asks for cpu 9, and all 2 nodes together have 8"
        assert remedy(reason).endswith("waiting does not help")


def test_a_pod_that_only_parts_of_nodes_could_hold_is_larger_than_any() -> None:
    nodes = [node("n1", cpu=8, memory="4Gi"), node("n2", cpu=4, memory="8Gi")]
    world = World(nodes=nodes, jobs=[gang("train", pods=1, cpu=6, memory="6Gi")], conf=conf())
    world.options = replace(world.options, full_report=True)

    cause = innermost(waits(world))

    assert str(cause).endswith("asks for cpu 6, memory 6Gi, and none of 2 nodes has all of that")


def test_nodes_that_are_merely_full_are_no_matter_of_size() -> None:
    running = gang("running", cpu=4, nodes=["n1"], phase="Running")
    world = World(nodes=[node("n1", cpu=4)], jobs=[running, gang("train", pods=1, cpu=4)], conf=conf())
    world.options = replace(world.options, full_report=True)

    assert innermost(waits(world)).code == "NoNodeFits"


def test_what_is_left_of_a_job_that_runs_says_why_it_waits() -> None:
    world = World(nodes=[node("n1", cpu=4)], jobs=[gang("train", pods=6, min_available=1, cpu=1)], conf=conf())
    world.options = replace(world.options, full_report=True)

    reason = waits(world)

    assert reason == Reason(Stage.GANG, "RestWaits", need=6, have=4)
    assert str(reason) == "it runs with its minimum of 1; 2 of its 6 pods wait for a node"
    assert reason.cause is not None
    assert reason.cause.nodes == (("Insufficient cpu", 1),)
    assert remedy(reason).startswith("ask for less cpu")
