"""capacity: what queues may use, whom they wait for, and who gives back."""

from __future__ import annotations

from volcano.testing.builders import Gang, gang, node, queue
from volcano.testing.world import World

FLAT = """
actions: "enqueue, allocate, reclaim"
tiers:
- plugins:
  - name: gang
    enableJobStarving: false
  - name: priority
  - name: capacity
"""
TREE = FLAT.replace("name: capacity", "name: capacity\n    enableHierarchy: true")


def running(name: str, in_queue: str, pods: int) -> Gang:
    return gang(name, pods=pods, cpu=1, queue=in_queue, min_available=0, phase="Running", nodes=["n0"] * pods)


def test_a_queue_stops_at_its_capability() -> None:
    world = World(
        nodes=[node("n0", cpu=8)],
        queues=[queue("a", capability={"cpu": 3})],
        jobs=[gang("train", pods=5, cpu=1, queue="a", min_available=1)],
        conf=FLAT,
    )

    assert len(world.cycle().binds) == 3


def test_what_others_are_guaranteed_is_left_alone() -> None:
    world = World(
        nodes=[node("n0", cpu=8)],
        queues=[queue("a"), queue("b", guarantee={"cpu": 6})],
        jobs=[gang("train", pods=5, cpu=1, queue="a", min_available=1)],
        conf=FLAT,
    )

    assert len(world.cycle().binds) == 2


def test_a_job_that_cannot_ever_fit_its_queue_stays_pending_and_says_why() -> None:
    job = gang("train", pods=1, cpu=1, queue="a", phase="Pending", min_resources={"cpu": 4})
    world = World(nodes=[node("n0")], queues=[queue("a", capability={"cpu": 3})], jobs=[job], conf=FLAT)

    decisions = world.cycle()

    assert decisions.podgroups["default/train"].phase == "Pending"
    reason = decisions.reason("train")
    assert reason is not None
    assert (reason.code, reason.need, reason.have, reason.blocker) == ("QueueQuotaExceeded", 4000, 3000, "a")


def test_a_closed_queue_takes_nothing() -> None:
    world = World(
        nodes=[node("n0")], queues=[queue("a", state="Closed")], jobs=[gang("j", pods=1, cpu=1, queue="a")], conf=FLAT
    )

    assert world.cycle().binds == {}


def test_a_queue_below_its_share_takes_back_from_one_above() -> None:
    world = World(
        nodes=[node("n0", cpu=4)],
        queues=[queue("a", deserved={"cpu": 2}), queue("b", deserved={"cpu": 2})],
        jobs=[running("greedy", "a", 4), gang("needy", pods=2, cpu=1, queue="b")],
        conf=FLAT,
    )

    decisions = world.cycle()

    assert sorted(eviction.key for eviction in decisions.evictions) == [
        "default/greedy-worker-2",
        "default/greedy-worker-3",
    ]


def test_nothing_is_taken_from_a_queue_that_has_what_it_deserves() -> None:
    world = World(
        nodes=[node("n0", cpu=4)],
        queues=[queue("a", deserved={"cpu": 4}), queue("b", deserved={"cpu": 2})],
        jobs=[running("greedy", "a", 4), gang("needy", pods=2, cpu=1, queue="b")],
        conf=FLAT,
    )

    assert world.cycle().evictions == []


def test_an_ancestors_limit_holds_for_all_below() -> None:
    world = World(
        nodes=[node("n0", cpu=8)],
        queues=[
            queue("root"),
            queue("team", parent="root", capability={"cpu": 3}),
            queue("a", parent="team"),
            queue("b", parent="team"),
        ],
        jobs=[
            gang("one", pods=4, cpu=1, queue="a", min_available=1),
            gang("two", pods=4, cpu=1, queue="b", min_available=1),
        ],
        conf=TREE,
    )

    assert len(world.cycle().binds) == 3


def test_in_a_tree_the_branches_decide_whose_turn_it_is_and_then_the_queues() -> None:
    """`b` has less of its share than `a`, so its queue comes first although that one has all it deserves itself."""

    def waiting(in_queue: str) -> Gang:
        return gang(f"next-{in_queue}", cpu=1, queue=in_queue)

    def first(*names: str) -> str:
        world = World(
            nodes=[node("n0", cpu=4)],
            queues=[
                queue("root"),
                queue("a", parent="root", deserved={"cpu": 2}),
                queue("b", parent="root", deserved={"cpu": 4}),
                queue("a-1", parent="a", deserved={"cpu": 10}),
                queue("a-2", parent="a", deserved={"cpu": 5}),
                queue("b-1", parent="b", deserved={"cpu": 1}),
            ],
            jobs=[*(running(f"old-{name}", name, 1) for name in ("a-1", "a-2", "b-1")), *map(waiting, names)],
            conf=TREE,
        )
        (bound,) = world.cycle().binds
        return bound.removeprefix("default/next-").removesuffix("-worker-0")

    assert first("a-1", "b-1") == "b-1"
    assert first("a-2", "a-1") == "a-1"
    assert first("a-2", "b-1", "a-1") == "b-1"


def test_one_misplaced_job_or_queue_does_not_stop_the_others() -> None:
    world = World(
        nodes=[node("n0", cpu=8)],
        queues=[
            queue("root"),
            queue("team", parent="root"),
            queue("a", parent="team"),
            queue("lost", parent="nowhere"),
            queue("x", parent="y"),
            queue("y", parent="x"),
        ],
        jobs=[
            gang("fine", pods=1, cpu=1, queue="a"),
            gang("inner", pods=1, cpu=1, queue="team"),
            gang("orphan", pods=1, cpu=1, queue="lost"),
            gang("circle", pods=1, cpu=1, queue="x"),
        ],
        conf=TREE,
    )

    decisions = world.cycle()

    assert set(decisions.binds) == {"default/fine-worker-0"}
    assert any("form a circle" in warning for warning in decisions.warnings)
    assert any("'nowhere' does not exist" in warning for warning in decisions.warnings)


def test_what_a_queue_deserves_is_not_kept_out_by_what_others_claim() -> None:
    def waiting(name: str, in_queue: str, cpu: int) -> Gang:
        return gang(name, pods=1, cpu=cpu, queue=in_queue, phase="Pending", min_resources={"cpu": cpu})

    world = World(
        nodes=[node("n0", cpu=4)],
        queues=[queue("mine", deserved={"cpu": 2}), queue("other")],
        jobs=[running("old", "other", 4), waiting("due", "mine", 2), waiting("more", "mine", 2)],
        conf=FLAT.replace("- name: capacity", "- name: capacity\n  - name: overcommit"),
    )

    decisions = world.cycle()

    assert decisions.podgroups["default/due"].phase == "Inqueue"
    assert decisions.podgroups["default/more"].phase == "Pending"
    refused = decisions.reason("more")
    assert refused is not None
    assert refused.code == "ClusterOverused"
