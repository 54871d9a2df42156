"""A queue at its limit and a cluster without room: the record says which of them is in the way, or both."""

from __future__ import annotations

import pytest

from volcano.scheduler.framework.options import Options
from volcano.scheduler.framework.reasons import Reason
from volcano.scheduler.framework.remedies import remedy
from volcano.testing.builders import Gang, gang, node, queue
from volcano.testing.world import World

CONF = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: predicates}}, {{name: {shares}}}]
"""
FULL_FIRST = "wait for room, ask for less, or add nodes; if queue mine is then still at its limit"


def running(name: str, queue_name: str, pods: int, *on: str) -> Gang:
    nodes = on or ["n0"] * pods
    minimum = {"cpu": pods}
    return gang(
        name, pods=pods, cpu=1, min_available=1, phase="Running", nodes=nodes, queue=queue_name, min_resources=minimum
    )


def reason_of(
    shares: str, *jobs: Gang, capability: dict[str, int] | None = None, nodes: tuple[int, ...] = (4,), key: str = "new"
) -> Reason:
    world = World(
        nodes=[node(f"n{number}", cpu=cpu) for number, cpu in enumerate(nodes)],
        jobs=jobs,
        queues=[queue("mine", capability=capability), queue("other")],
        conf=CONF.format(shares=shares),
        options=Options(full_report=True),
    )
    reason = world.cycle().reason(key)
    assert reason is not None
    return reason


def chain(reason: Reason) -> list[str]:
    return [reason.code, *(chain(reason.cause) if reason.cause is not None else [])]


def innermost(reason: Reason, code: str) -> Reason:
    while reason.code != code:
        assert reason.cause is not None
        reason = reason.cause
    return reason


FULL = (running("a", "mine", 2), running("b", "other", 2))
HALF = (running("a", "mine", 2),)


@pytest.mark.parametrize("shares", ["proportion", "capacity"])
def test_a_full_cluster_with_a_queue_at_its_limit_is_both(shares: str) -> None:
    new = gang("new", pods=2, cpu=1, queue="mine", phase="Inqueue")

    reason = reason_of(shares, *FULL, new, gang("too", cpu=1, queue="other"), capability={"cpu": 2})

    assert chain(reason) == ["NotEnoughResources", "ClusterFull", "QueueQuotaExceeded"]
    full = innermost(reason, "ClusterFull")
    assert (full.need, full.have, full.resource) == (2000, 0, "cpu")
    assert full.nodes == (("Insufficient cpu", 1),)
    assert innermost(reason, "QueueQuotaExceeded").blocker == "mine"
    assert "the cluster is full: 2 cpu needed, 0 available; queue 'mine' would hold 3 cpu, and may" in str(reason)
    assert remedy(reason).startswith(FULL_FIRST)


def test_a_share_of_a_full_cluster_is_no_quota_alone() -> None:
    new = gang("new", pods=1, cpu=1, queue="mine", phase="Inqueue")

    reason = reason_of("proportion", *FULL, new, gang("too", cpu=1, queue="other", phase="Inqueue"))

    assert chain(reason) == ["NotEnoughResources", "ClusterFull", "QueueQuotaExceeded"]


@pytest.mark.parametrize("shares", ["proportion", "capacity"])
def test_where_nodes_have_room_the_quota_alone_is_in_the_way(shares: str) -> None:
    reason = reason_of(shares, *HALF, gang("new", cpu=1, queue="mine", phase="Inqueue"), capability={"cpu": 2})

    assert chain(reason) == ["NotEnoughResources", "QueueQuotaExceeded"]
    assert remedy(reason).startswith("wait for jobs of queue mine to finish")


@pytest.mark.parametrize("shares", ["proportion", "capacity"])
def test_where_the_queue_may_take_more_the_cluster_alone_is_in_the_way(shares: str) -> None:
    reason = reason_of(shares, running("b", "other", 4), gang("new", cpu=1, queue="mine", phase="Inqueue"))

    assert chain(reason) == ["NotEnoughResources", "NoNodeFits"]
    assert "Insufficient cpu" in str(reason)


@pytest.mark.parametrize("shares", ["proportion", "capacity"])
@pytest.mark.parametrize(("others", "codes"), [(2, ["ClusterFull", "QueueQuotaExceeded"]), (0, ["QueueQuotaExceeded"])])
def test_a_job_that_waits_to_be_admitted_hears_the_same(shares: str, others: int, codes: list[str]) -> None:
    new = gang("new", pods=1, cpu=1, queue="mine", phase="Pending", min_resources={"cpu": 1})
    beside = [running("b", "other", others)] if others else []

    reason = reason_of(shares, *HALF, *beside, new, capability={"cpu": 2})

    assert chain(reason) == codes
    assert reason.stage == "enqueue"


def test_room_in_pieces_is_told_with_the_largest() -> None:
    others = [running("a", "mine", 2, "n0", "n1"), running("b", "other", 2, "n0", "n1")]

    reason = reason_of(
        "proportion",
        *others,
        gang("new", cpu=2, queue="mine", phase="Inqueue"),
        capability={"cpu": 3},
        nodes=(3, 3),
    )

    full = innermost(reason, "ClusterFull")
    assert (full.need, full.have) == (2000, 1000)
    assert "2 cpu needed on one node, the most that one has free is 1 cpu" in str(full)


def test_pods_that_suit_no_node_hear_of_it_beside_the_quota() -> None:
    new = gang("new", cpu=1, queue="mine", phase="Inqueue", node_selector={"disk": "ssd"})

    reason = reason_of("capacity", *HALF, new, capability={"cpu": 2})

    assert chain(reason) == ["NotEnoughResources", "NoNodeFits", "QueueQuotaExceeded"]
    assert remedy(reason).startswith("label nodes as the pods ask")


@pytest.mark.parametrize(("others", "said"), [(2, "the cluster is full, and queue 'mine'"), (1, "queue 'mine'")])
def test_the_pods_condition_has_both_in_few_words(others: int, said: str) -> None:
    world = World(
        nodes=[node("n0", cpu=4)],
        jobs=[*HALF, running("b", "other", others), gang("new", cpu=1, queue="mine", phase="Inqueue")],
        queues=[queue("mine", capability={"cpu": 2}), queue("other")],
        conf=CONF.format(shares="capacity"),
    )

    (verdict,) = world.cycle().pods

    assert verdict.message == f"{said} would hold 3 cpu, and may hold 2"
