"""Queues of which each could take, by right, what the other has just taken: they come to rest all the same."""

from __future__ import annotations

import pytest

from tests.scheduler.properties.test_properties import IdealCluster
from tests.scheduler.properties.worlds import CONFS, GPU
from volcano.testing.builders import Gang, gang, node, pod, priority_class, queue
from volcano.testing.world import World


def evictions(world: World, cycles: int = 8) -> list[list[str]]:
    """Who had to go, cycle by cycle; who went comes back."""
    ideal = IdealCluster(world)
    found = []
    for _ in range(cycles):
        decisions = world.cycle()
        found.append([eviction.job for eviction in decisions.evictions])
        ideal.settle(decisions)
    return found


def both(name: str, queue_name: str, pods: int = 1, *, each: int = 2, on: str = "") -> Gang:
    """A gang that asks for as many CPUs as GPUs."""
    members = [pod(f"{name}-{i}", group=name, cpu=each, resources={GPU: each}, node=on) for i in range(pods)]
    return gang(name, pods=members, queue=queue_name, phase="Running" if on else "Inqueue", min_available=pods)


def rivals(conf: str, **gpus: int) -> World:
    """One queue deserves the CPUs and the other the GPUs of a node that has room for one of their jobs."""
    return World(
        nodes=[node("n0", cpu=2, pods=9, **{GPU: 2})],  # type: ignore[arg-type]
        queues=[
            queue("root"),
            queue("cpus", deserved={"cpu": 2, GPU: gpus["cpus"]}),
            queue("gpus", deserved={"cpu": 1, GPU: gpus["gpus"]}),
        ],
        conf=CONFS[conf],
    )


@pytest.mark.parametrize("conf", ["capacity", "capacity-tree", "capacity-levels"])
@pytest.mark.parametrize(("owner", "rival"), [("gpus", "cpus"), ("cpus", "gpus")])
def test_each_deserves_another_part_of_what_both_want(conf: str, owner: str, rival: str) -> None:
    world = rivals(conf, cpus=1, gpus=2)
    world.add_gang(both("old", owner, on="n0"))
    world.add_gang(both("new", rival))

    assert evictions(world) == [[]] * 8


@pytest.mark.parametrize(("owner", "rival"), [("gpus", "cpus"), ("cpus", "gpus")])
def test_a_gang_that_fell_makes_no_other_fall(owner: str, rival: str) -> None:
    world = rivals("gang-eviction", cpus=1, gpus=2)
    world.add_gang(both("old", owner, on="n0"))
    world.add_gang(both("new", rival))

    assert evictions(world) == [["default/old"], *[[]] * 7]


def test_a_gang_that_fell_takes_what_others_can_spare() -> None:
    world = rivals("gang-eviction", cpus=1, gpus=2)
    world.add_gang(both("old", "gpus", on="n0"))
    world.add_gang(both("new", "cpus"))
    evictions(world, cycles=2)
    spare = [pod(f"spare-{i}", group="spare", cpu=2, resources={GPU: 2}, node="n1") for i in range(2)]
    world.add("nodes", node("n1", cpu=4, pods=9, **{GPU: 4}))  # type: ignore[arg-type]
    world.add_gang(gang("spare", pods=spare, queue="cpus", phase="Running", min_available=1))

    assert world.cycle().evictions[0].job == "default/spare"


def test_who_comes_nearer_to_its_share_takes_it_once() -> None:
    world = rivals("capacity", cpus=0, gpus=2)
    world.add_gang(both("old", "cpus", on="n0"))
    world.add_gang(both("new", "gpus"))

    found = evictions(world)

    assert found[0] == ["default/old"]
    assert found[1:] == [[]] * 7


def test_too_many_pods_are_no_reason_to_take_cpus() -> None:
    """Both queues have more pods than a third one, which wants many, leaves them; neither has too many CPUs."""
    idlers = [
        gang(f"idle-{name}", pods=2, min_available=2, queue=name, phase="Running", nodes=[home] * 2)
        for name, home in (("mine", "n1"), ("yours", "n2"))
    ]
    nowhere = [pod(f"wait-{i}", group="wait", node_selector={"no": "where"}) for i in range(12)]
    world = World(
        nodes=[node("n0", cpu=2, pods=6), node("n1", cpu=1, pods=3), node("n2", cpu=1, pods=3)],
        queues=[queue("root"), queue("mine"), queue("yours"), queue("many", weight=3)],
        jobs=[
            *idlers,
            gang("old", pods=1, cpu=2, nodes=["n0"], queue="yours", phase="Running", min_available=1),
            gang("new", pods=1, cpu=2, queue="mine", phase="Inqueue", min_available=1),
            gang("wait", pods=nowhere, queue="many", phase="Inqueue", min_available=12),
        ],
        conf=CONFS["proportion"],
    )

    assert evictions(world) == [[]] * 8


ELASTIC = {
    "single": CONFS["elastic"],
    "tree": CONFS["elastic"].replace("- name: capacity", "- name: capacity\n    enableHierarchy: true"),
    "breaking": CONFS["elastic"].replace("- name: gang", "- name: gang\n    enablePreemptable: false"),
    "gangs": CONFS["gang-eviction"].replace("- name: gang\n", "- name: gang\n    enableJobStarving: false\n"),
}
"""Complete jobs take from others, too."""


def lone(
    name: str, queue_name: str, cpu: int, *, gpu: int = 0, rank: str = "low", minimum: int = 0, on: str = ""
) -> Gang:
    """A job of one pod."""
    member = pod(
        f"{name}-0",
        group=name,
        cpu=cpu,
        resources={GPU: gpu} if gpu else None,
        node=on,
        priority=100 if rank == "high" else 1,
    )
    phase = "Running" if on else "Inqueue"
    return gang(name, pods=[member], queue=queue_name, phase=phase, min_available=minimum, priority_class=rank)


def wheel(conf: str, minimum: int) -> World:
    """Two queues, each with a small job that is within the share and a more important one that is beyond it.

    The important one takes the small one's place, and the other queue takes it back: round and round.
    """
    return World(
        nodes=[node("n0", cpu=3, pods=9)],
        queues=[queue("root"), queue("a", deserved={"cpu": 2}), queue("b", deserved={"cpu": 2})],
        priority_classes=[priority_class("high", 100), priority_class("low", 1)],
        jobs=[
            lone("small-a", "a", 2, on="n0"),
            lone("large-a", "a", 3, rank="high", minimum=minimum),
            lone("small-b", "b", 2),
            lone("large-b", "b", 3, rank="high", minimum=minimum),
        ],
        conf=conf,
    )


@pytest.mark.parametrize("conf", ELASTIC)
@pytest.mark.parametrize("minimum", [0, 1])
def test_who_gave_to_another_queue_is_not_helped_by_its_rank(conf: str, minimum: int) -> None:
    found = evictions(wheel(ELASTIC[conf], minimum), cycles=16)

    assert len([job for cycle in found for job in cycle]) <= 5
    assert found[-4:] == [[]] * 4


def test_what_was_given_is_forgotten_when_the_cluster_changes() -> None:
    world = wheel(ELASTIC["single"], 0)
    evictions(world, cycles=16)

    world.add("nodes", node("n1", cpu=1, pods=1))

    assert evictions(world, cycles=1) == [["default/small-a"]]


def test_who_gave_takes_nothing_back_though_others_have_been_lent_more_since() -> None:
    """Each of the two is beyond its share by more when its turn to give comes than when it took."""
    world = World(
        nodes=[node("n0", cpu=30, pods=9, **{GPU: 10})],  # type: ignore[arg-type]
        queues=[
            queue("root"),
            queue("a", deserved={"cpu": 10, GPU: 1}),
            queue("b", deserved={"cpu": 20, GPU: 1}),
        ],
        priority_classes=[priority_class("high", 100), priority_class("low", 1)],
        jobs=[
            lone("old", "b", 30, gpu=1, on="n0"),
            lone("new", "a", 10, gpu=1),
            lone("lent", "a", 20, gpu=9, rank="high"),
        ],
        conf=ELASTIC["single"],
    )

    found = evictions(world)

    assert found[0] == ["default/old"]
    assert found[1:] == [[]] * 7


@pytest.mark.parametrize("conf", ["elastic-shares", "elastic-shares-below"])
def test_of_two_jobs_with_equal_shares_one_takes_what_changes_neither_share_once(conf: str) -> None:
    """Each has half of the CPUs, with and without the only GPU that is not in use."""
    world = World(
        nodes=[node("n0", cpu=0, pods=9, **{GPU: 1}), node("n1", cpu=8, pods=9, **{GPU: 3})],  # type: ignore[arg-type]
        queues=[queue("root"), queue("one", deserved={"cpu": 8, GPU: 4})],
        conf=CONFS[conf],
    )
    others = [pod(f"others-{i}", group="others", cpu=0, resources={GPU: 1}, node="n1") for i in range(3)]
    world.add_gang(gang("others", pods=others, queue="one", phase="Running"))
    for name, on in (("without", ""), ("with", "n0")):
        half = pod(f"{name}-cpus", group=name, cpu=4, node="n1")
        more = pod(f"{name}-gpu", group=name, cpu=0, resources={GPU: 1}, node=on)
        world.add_gang(gang(name, pods=[half, more], queue="one", phase="Running", min_available=1))

    assert evictions(world) == [["default/with"], *[[]] * 7]


@pytest.mark.parametrize(("conf", "minimum"), [("elastic", 0), ("capacity", 1)])
def test_a_job_for_which_others_go_need_not_be_admitted_again(conf: str, minimum: int) -> None:
    """It has run before and has no pods now: were it Pending, another job might be given the room."""
    world = World(
        nodes=[node("n0", cpu=4, pods=9)],
        queues=[queue("root"), queue("one", deserved={"cpu": 4}), queue("two", deserved={"cpu": 0})],
        conf=CONFS[conf],
    )
    members = [pod(f"old-{i}", group="old", cpu=1, node="n0") for i in range(4)]
    world.add_gang(gang("old", pods=members, queue="two", phase="Running", min_available=1))
    again = [pod("again-0", group="again", cpu=1)]
    world.add_gang(gang("again", pods=again, queue="one", phase="Running", min_available=minimum))

    decisions = world.cycle()

    assert [eviction.job for eviction in decisions.evictions] == ["default/old"]
    assert decisions.podgroups["default/again"].phase == "Inqueue"
