"""What counts as a change from outside: not what the scheduler itself has set going, and no signs of life."""

from __future__ import annotations

import datetime

import msgspec
import pytest

from volcano.api.core import Node, Pod
from volcano.scheduler.cluster.era import Era
from volcano.scheduler.framework.decisions import Decisions
from volcano.testing.builders import gang, node, pod, priority_class, queue
from volcano.testing.world import World

PREEMPTING = """
actions: "allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: predicates
"""
SOON = datetime.datetime.fromisoformat("2026-01-05T12:00:00Z")


@pytest.fixture
def world() -> World:
    """An important pod is about to take the place of another one."""
    return World(
        nodes=[node("n0", cpu=1)],
        queues=[queue("default", deserved={"cpu": 1})],
        priority_classes=[priority_class("high", 100), priority_class("low", 1)],
        jobs=[
            gang("old", pods=[pod("old-0", group="old", cpu=1, node="n0")], priority_class="low", phase="Running"),
            gang("new", pods=[pod("new-0", group="new", cpu=1)], priority_class="high", created=1),
        ],
        conf=PREEMPTING,
    )


def era(world: World) -> int:
    return world.cluster.index(Era).number


def pod_of(world: World, key: str) -> Pod:
    return next(task.pod for task in world.cluster.tasks.values() if task.key == key)


def node_of(world: World) -> Node:
    found = world.cluster.nodes.objects[world.cluster.nodes.row_of["n0"]]
    assert found is not None
    return found


def leaving(gone: Pod) -> Pod:
    return msgspec.structs.replace(gone, metadata=msgspec.structs.replace(gone.metadata, deletion_timestamp=SOON))


def ended(gone: Pod) -> Pod:
    return msgspec.structs.replace(gone, status=msgspec.structs.replace(gone.status, phase="Succeeded"))


def preempted(world: World) -> Decisions:
    decisions = world.cycle()
    assert [eviction.key for eviction in decisions.evictions] == ["default/old-0"]
    return decisions


def test_an_eviction_and_all_that_follows_from_it_is_no_change_from_outside(world: World) -> None:
    before = era(world)
    preempted(world)
    old = pod_of(world, "default/old-0")

    world.update("pods", leaving(old))
    world.update("pods", ended(leaving(old)))
    world.remove("pods", old)
    bound = world.cycle().binds
    new = pod_of(world, "default/new-0")
    world.update("pods", msgspec.structs.replace(new, spec=msgspec.structs.replace(new.spec, node_name="n0")))

    assert bound == {"default/new-0": "n0"}
    assert era(world) == before


@pytest.mark.parametrize("event", ["deleted by somebody", "gone at once", "ended"])
def test_a_pod_that_leaves_unasked_is_one(world: World, event: str) -> None:
    before, old = era(world), pod_of(world, "default/old-0")

    if event == "gone at once":
        world.remove("pods", old)
    else:
        world.update("pods", leaving(old) if event == "deleted by somebody" else ended(old))

    assert era(world) == before + 1


def test_a_node_that_reports_as_before_is_none_and_one_that_offers_more_is_one(world: World) -> None:
    before, known = era(world), node_of(world)

    world.update("nodes", known)
    assert era(world) == before

    world.update("nodes", node("n0", cpu=2))
    assert era(world) == before + 1


def test_a_group_with_another_status_is_none_and_one_with_another_minimum_is_one(world: World) -> None:
    before, group = era(world), world.cluster.jobs["default/new"].pod_group
    assert group is not None

    world.update("podgroups", msgspec.structs.replace(group, status=msgspec.structs.replace(group.status, running=1)))
    assert era(world) == before

    world.update("podgroups", msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, min_member=0)))
    assert era(world) == before + 1


def test_a_queue_that_deserves_more_is_one(world: World) -> None:
    before = era(world)

    world.update("queues", queue("default", deserved={"cpu": 1}))
    assert era(world) == before

    world.update("queues", queue("default", deserved={"cpu": 2}))
    assert era(world) == before + 1


@pytest.mark.parametrize("plural", ["nodes", "podgroups", "queues"])
def test_what_vanishes_is_one(world: World, plural: str) -> None:
    before = era(world)
    objects = {
        "nodes": node_of(world),
        "podgroups": world.cluster.jobs["default/new"].pod_group,
        "queues": world.cluster.queues["default"].object,
    }

    world.remove(plural, objects[plural])

    assert era(world) == before + 1
