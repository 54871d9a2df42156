"""reclaim: room that other queues give back, and room that needs no victim."""

from __future__ import annotations

from volcano.api import keys
from volcano.testing.builders import Gang, gang, node, queue
from volcano.testing.world import World

CONF = """
actions: "reclaim, allocate"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
"""


def world(*jobs: Gang, cpu: int) -> World:
    return World(
        nodes=[node("n0", cpu=cpu)],
        queues=[queue("mine"), queue("other")],
        jobs=jobs,
        conf=CONF,
    )


def running(name: str, pods: int, *, min_available: int) -> Gang:
    on = ["n0"] * pods
    return gang(name, pods=pods, nodes=on, cpu=1, min_available=min_available, phase="Running", queue="other")


def claimant(pods: int = 1) -> Gang:
    return gang("new", pods=pods, cpu=1, phase="Inqueue", queue="mine")


def test_a_queue_takes_back_what_it_deserves() -> None:
    decisions = world(running("old", 2, min_available=1), claimant(), cpu=2).cycle()

    assert [eviction.job for eviction in decisions.evictions] == ["default/old"]
    assert decisions.pipelined == {"default/new-worker-0": "n0"}


def test_room_beside_others_is_promised_although_none_of_them_need_go() -> None:
    decisions = world(running("old", 2, min_available=2), claimant(), cpu=4).cycle()

    assert decisions.evictions == []
    assert decisions.pipelined == {"default/new-worker-0": "n0"}


def test_room_on_a_node_with_nobody_to_ask_is_left_to_allocate() -> None:
    decisions = world(claimant(), cpu=4).cycle()

    assert decisions.binds == {"default/new-worker-0": "n0"}
    assert decisions.pipelined == {}


def test_a_gang_gives_what_it_can_spare() -> None:
    decisions = world(running("old", 4, min_available=2), claimant(2), cpu=4).cycle()

    assert [eviction.job for eviction in decisions.evictions] == ["default/old"] * 2


def test_a_gang_that_must_be_broken_goes_as_a_whole() -> None:
    decisions = world(running("old", 4, min_available=4), claimant(1), cpu=4).cycle()

    assert len(decisions.evictions) == 4
    assert decisions.pipelined == {"default/new-worker-0": "n0"}


def test_a_gang_of_which_a_member_must_stay_is_left_alone() -> None:
    old = running("old", 4, min_available=4)
    old.pods[3].metadata.annotations[keys.PREEMPTABLE] = "false"

    decisions = world(old, claimant(1), cpu=4).cycle()

    assert decisions.evictions == []


def test_who_waits_for_the_place_of_an_evicted_pod_evicts_no_other_one() -> None:
    made = World(
        nodes=[node("n0", cpu=8, pods=2)],
        queues=[queue("mine"), queue("other")],
        jobs=[running("old", 2, min_available=0), claimant()],
        conf=CONF,
    )
    first = made.cycle()

    again = made.cycle()

    assert len(first.evictions) == 1
    assert again.evictions == []
    assert again.pipelined == {"default/new-worker-0": "n0"}


def test_best_effort_pods_and_nodes_out_of_reach_are_no_reason_to_evict() -> None:
    decisions = world(running("old", 2, min_available=0), gang("new", pods=1, queue="mine"), cpu=2).cycle()

    assert decisions.evictions == []


def test_backfill_waits_until_an_evicted_pod_has_gone() -> None:
    made = World(
        nodes=[node("n0", cpu=8, pods=2)],
        queues=[queue("mine"), queue("other")],
        jobs=[running("old", 2, min_available=0), claimant()],
        conf=CONF.replace("reclaim, allocate", "reclaim, backfill"),
    )
    assert len(made.cycle().evictions) == 1
    made.add_gang(gang("idle", pods=1, queue="mine"))

    assert made.cycle().binds == {}
