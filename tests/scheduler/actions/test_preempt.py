"""preempt: whom a starving job evicts, and whom it leaves alone."""

from __future__ import annotations

import random

from volcano.testing.builders import Gang, gang, node, pod, priority_class
from volcano.testing.world import World

CONF = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
    enableJobStarving: false
  - name: conformance
"""


def world(*jobs: Gang, nodes: int = 1, cpu: int = 2) -> World:
    return World(
        nodes=[node(f"n{i}", cpu=cpu) for i in range(nodes)],
        jobs=jobs,
        priority_classes=[priority_class("high", 1000), priority_class("low", 10)],
        conf=CONF,
    )


def running(name: str, *on: str, min_available: int = 0, **options: object) -> Gang:
    options.setdefault("priority_class", "low")
    return gang(
        name,
        pods=len(on),
        nodes=on,
        cpu=1,
        min_available=min_available,
        phase="Running",
        **options,  # type: ignore[arg-type]
    )


def test_a_more_important_job_evicts_as_few_as_it_needs() -> None:
    decisions = world(running("old", "n0", "n0"), gang("new", pods=1, cpu=1, priority_class="high")).cycle()

    assert [eviction.key for eviction in decisions.evictions] == ["default/old-worker-1"]
    assert decisions.pipelined == {"default/new-worker-0": "n0"}
    assert decisions.transactions == {"preempt": 1}


def test_nobody_is_evicted_in_vain() -> None:
    decisions = world(running("old", "n0", "n0"), gang("new", pods=3, cpu=1, priority_class="high")).cycle()

    assert decisions.evictions == []


def test_of_nodes_that_are_equal_the_first_is_tried_first_whatever_the_seed() -> None:
    jobs = running("old", "n0", "n1", "n2"), gang("new", pods=1, cpu=1, priority_class="high")

    evicted = set()
    for seed in range(5):
        one = world(*jobs, nodes=3, cpu=1)
        one.rng = random.Random(seed)
        evicted |= {eviction.node for eviction in one.cycle().evictions}

    assert evicted == {"n0"}


def test_equals_are_left_alone() -> None:
    decisions = world(running("old", "n0", "n0"), gang("new", pods=1, cpu=1, priority_class="low")).cycle()

    assert decisions.evictions == []


def test_a_victim_that_is_not_needed_after_all_is_spared() -> None:
    small = gang(
        "small", pods=[pod("small", group="small", cpu="500m", node="n0", priority=1)], min_available=0, phase="Running"
    )
    large = gang(
        "large",
        pods=[pod("large", group="large", cpu="1500m", node="n0", priority=2)],
        min_available=0,
        phase="Running",
    )
    claim = gang("new", pods=1, cpu="1500m", priority_class="high")

    decisions = world(small, large, claim).cycle()

    assert [eviction.key for eviction in decisions.evictions] == ["default/large"]


def test_a_pod_that_never_preempts_waits() -> None:
    polite = gang("new", pods=1, cpu=1, priority_class="high")
    polite.pods[0].spec.preemption_policy = "Never"

    assert world(running("old", "n0", "n0"), polite).cycle().evictions == []


def test_evictions_reach_a_fixed_point() -> None:
    busy = world(running("old", "n0", "n0"), gang("new", pods=1, cpu=1, priority_class="high"))
    first = busy.cycle()
    assert len(first.evictions) == 1

    assert busy.cycle().evictions == []


def test_the_victims_room_goes_to_the_claimant_once_it_has_left() -> None:
    old = running("old", "n0", "n0")
    busy = world(old, gang("new", pods=1, cpu=1, priority_class="high"))
    (eviction,) = busy.cycle().evictions
    busy.remove("pods", next(pod for pod in old.pods if pod.metadata.name == eviction.name))

    assert busy.cycle().binds == {"default/new-worker-0": "n0"}


def test_within_a_job_the_important_task_goes_first() -> None:
    members = [
        pod("train-a-0", group="train", cpu=2, node="n0", priority=1),
        pod("train-b-0", group="train", cpu=2, priority=100),
    ]

    decisions = world(gang("train", pods=members, min_available=0, phase="Running")).cycle()

    assert [eviction.key for eviction in decisions.evictions] == ["default/train-a-0"]


def test_a_gang_takes_its_own_pods_room_only_if_it_is_whole_afterwards() -> None:
    important = [pod(f"new-{i}", group="mixed", cpu=2, priority=100) for i in range(2)]
    small = [pod("old-0", group="mixed", cpu=1, priority=1, node="n0", phase="Running")]
    job = gang("mixed", pods=[*small, *important], min_available=2, phase="Running")

    decisions = world(job).cycle()

    assert decisions.evictions == []
    assert decisions.pipelined == {}
