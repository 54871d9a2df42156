"""Amounts that no API server lets through, in manifests that never saw one: they count as none, and spoil nothing."""

from __future__ import annotations

from volcano.testing.builders import gang, node, queue
from volcano.testing.world import World


def test_a_node_that_offers_less_than_nothing_takes_nothing_from_the_others() -> None:
    world = World(
        nodes=[node("sound", cpu=4), node("odd", cpu=-4)],
        jobs=[gang("train", pods=4, cpu=1)],
        conf="actions: allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: proportion}]\n",
    )

    assert len(world.cycle().binds) == 4


def test_a_gang_of_less_than_nobody_is_not_complete_before_it_runs() -> None:
    world = World(nodes=[node("n0", cpu=1)], jobs=[gang("odd", cpu=2, min_available=-1)])

    decisions = world.cycle()

    assert decisions.podgroups["default/odd"].phase == "Inqueue"


def test_a_queue_with_absurd_limits_leaves_the_others_alone() -> None:
    world = World(
        nodes=[node("n0", cpu=2)],
        queues=[
            queue("odd", capability={"cpu": -3, "memory": 10**30}, deserved={"cpu": 10**20}, guarantee={"cpu": -1}),
            queue("sound"),
        ],
        jobs=[gang("one", cpu=1, queue="odd"), gang("two", cpu=1, queue="sound")],
        conf="actions: allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: capacity}]\n",
    )

    assert "default/two-worker-0" in world.cycle().binds
