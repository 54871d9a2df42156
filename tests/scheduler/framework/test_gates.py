"""Jobs without pods in a full cluster: who is let in, so that others make way, and what those kept out are told."""

from __future__ import annotations

import pytest

from tests.docs.blocks import ROOT, blocks
from volcano.scheduler.framework.options import Options
from volcano.scheduler.framework.reasons import Reason
from volcano.scheduler.framework.remedies import remedy
from volcano.testing.builders import gang, node, pod, priority_class, queue
from volcano.testing.world import World

ENTRY = "- name: proportion"
KEPT_OUT = "\n    enableJobEnqueued: false"


def example(action: str) -> str:
    """The configuration on the action's page."""
    page = blocks(ROOT / "docs" / "actions" / f"{action}.md")
    return next(block.text for block in page if block.language == "yaml")


def full(conf: str, *, mine: str = "default", priority: str = "high") -> World:
    """Two nodes that a job of no priority fills, and a job of queue `mine` that has no pod yet."""
    old = gang("old", pods=2, cpu=1, nodes=["n0", "n1"], min_available=1, phase="Running", min_resources={"cpu": 2})
    new = gang("new", pods=[], min_available=1, queue=mine, phase="Pending", priority_class=priority, min_resources=CPU)
    return World(
        nodes=[node("n0", cpu=1), node("n1", cpu=1)],
        queues=[queue("default"), queue("other")],
        priority_classes=[priority_class("high", 1000), priority_class("none", 0)],
        jobs=[old, new],
        conf=conf,
        options=Options(full_report=True),
    )


CPU = {"cpu": 1}


def evicted_for(world: World) -> list[str]:
    """Once the job is let in, its pod is made; whose pods go for it?"""
    assert world.cycle().podgroups["default/new"].phase == "Inqueue"
    world.add("pods", pod("new-0", group="new", cpu=1, priority=1000))
    return [eviction.job for eviction in world.cycle().evictions]


def refusal(world: World) -> Reason:
    decisions = world.cycle()
    reason = decisions.reason("new")
    assert decisions.podgroups["default/new"].phase == "Pending"
    assert reason is not None
    return reason


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_the_example_of_the_page_preempts_in_a_full_cluster(action: str) -> None:
    assert evicted_for(full(example(action))) == ["default/old"]


@pytest.mark.parametrize("gate", ["", "\n  - name: overcommit"])
def test_a_queue_within_its_part_takes_back_in_a_full_cluster(gate: str) -> None:
    conf = example("reclaim").replace(ENTRY, ENTRY + gate)

    assert evicted_for(full(conf, mine="other")) == ["default/old"]


def test_a_queue_beyond_its_part_heeds_the_sum_of_all() -> None:
    """Its part is half a CPU: a quarter of two."""
    conf = example("reclaim").replace(ENTRY, f"{ENTRY}\n  - name: overcommit")
    world = full(conf, mine="other")
    world.update("queues", queue("default", weight=3))

    assert refusal(world).code == "ClusterOverused"


def test_without_reclaim_the_sum_of_all_holds() -> None:
    conf = example("reclaim").replace(ENTRY, f"{ENTRY}\n  - name: overcommit").replace("reclaim, ", "")

    assert refusal(full(conf, mine="other")).code == "ClusterOverused"


def test_who_can_preempt_in_its_own_queue_does_not_take_from_others() -> None:
    conf = example("reclaim").replace(ENTRY, f"{ENTRY}\n  - name: overcommit").replace("reclaim", "preempt, reclaim")
    world = full(conf, mine="other")
    world.add("nodes", node("n2", cpu=1))
    world.add_gang(gang("mine", cpu=1, nodes=["n2"], phase="Running", queue="other", min_resources=CPU))

    assert refusal(world).code == "ClusterOverused"


def test_a_queue_that_is_alone_heeds_the_sum_of_its_jobs() -> None:
    conf = example("preempt").replace(ENTRY + KEPT_OUT, f"{ENTRY}{KEPT_OUT}\n  - name: overcommit")

    assert refusal(full(conf)).code == "ClusterOverused"


def test_who_is_kept_from_preempting_is_told_by_what() -> None:
    reason = refusal(full(example("preempt").split(KEPT_OUT)[0] + "\n"))

    assert reason.cause is not None
    assert reason.cause.code == "NotAdmittedToPreempt"
    assert remedy(reason) == "wait for room, or set enableJobEnqueued: false for proportion: then preempt makes room"


def test_who_is_no_more_important_waits_for_room() -> None:
    reason = refusal(full(example("preempt").split(KEPT_OUT)[0] + "\n", priority="none"))

    assert remedy(reason) == "wait for room, ask for less, or add nodes"


def test_without_enqueue_allocate_lets_jobs_in_that_have_no_pods() -> None:
    conf = 'actions: "allocate, backfill"\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: proportion}]\n'

    assert full(conf).cycle().podgroups["default/new"].phase == "Inqueue"
