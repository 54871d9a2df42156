"""Statements: what is undone leaves no trace in any array or counter."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.tasks import Status
from volcano.testing.builders import gang, node, pod
from volcano.testing.world import World


def snapshot(cluster: Cluster) -> dict[str, Any]:
    """Every number that a statement can change."""
    nodes = cluster.nodes
    columns = ("allocatable", "idle", "future", "used", "releasing", "pipelined", "requested", "nonzero", "pod_count")
    return {
        **{name: getattr(nodes, name).copy() for name in columns},
        "members": [set(tasks) for tasks in nodes.tasks],
        "tasks": {uid: (task.status, task.node, task.node_name, task.evicted) for uid, task in cluster.tasks.items()},
        "jobs": {
            key: (list(job.tally.counts), job.tally.ready, job.allocated.tolist(), set(job.pending))
            for key, job in cluster.jobs.items()
        },
        "roles": {
            key: {role: list(tally.counts) for role, tally in job.roles.items()} for key, job in cluster.jobs.items()
        },
        "queues": {name: (queue.allocated.tolist(), queue.pending.tolist()) for name, queue in cluster.queues.items()},
    }


def same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    return all(
        np.array_equal(left[name], right[name]) if isinstance(left[name], np.ndarray) else left[name] == right[name]
        for name in left
    )


def crowded_world() -> World:
    return World(
        nodes=[node(f"n{i}", cpu=6) for i in range(4)],
        jobs=[
            gang("old", pods=6, cpu=1, nodes=["n0", "n0", "n1", "n2", "n3", "n3"], phase="Running"),
            gang("new", pods=[pod(f"new-a-{i}", group="new", cpu=1, role="a") for i in range(5)]),
            gang("mixed", pods=[pod("mixed-b-0", group="mixed", cpu=2), pod("mixed-c-0", group="mixed")]),
        ],
    )


operation = st.tuples(st.sampled_from(["allocate", "pipeline", "evict", "checkpoint", "rollback"]), st.integers(0, 99))


@settings(max_examples=200, deadline=None)
@given(st.lists(operation, max_size=25), st.booleans())
def test_what_is_undone_leaves_no_trace(operations: list[tuple[str, int]], keep: bool) -> None:
    world = crowded_world()
    before = snapshot(world.cluster)
    session = world.session()
    statement = session.statement()
    marks: list[int] = []
    for kind, number in operations:
        pending = [task for task in world.cluster.tasks.values() if task.status is Status.PENDING]
        running = [task for task in world.cluster.tasks.values() if task.status is Status.RUNNING]
        row = number % 4
        if kind == "allocate" and pending:
            statement.allocate([pending[number % len(pending)]], [row])
        elif kind == "pipeline" and pending:
            statement.pipeline([pending[number % len(pending)]], [row], evicted=number % 2 == 0)
        elif kind == "evict" and running:
            statement.evict([running[number % len(running)]], "preempt")
        elif kind == "checkpoint":
            marks.append(statement.checkpoint())
        elif kind == "rollback" and marks:
            statement.rollback(min(marks.pop(), statement.checkpoint()))

    if keep:
        statement.keep()
        session.restore()
    else:
        statement.discard()

    assert same(before, snapshot(world.cluster))


def test_a_trial_can_be_saved_undone_and_done_again() -> None:
    world = crowded_world()
    session = world.session()
    statement = session.statement()
    tasks = list(world.cluster.jobs["default/new"].pending.values())
    statement.allocate(tasks[:3], [0, 1, 1])
    statement.evict([next(t for t in world.cluster.tasks.values() if t.status is Status.RUNNING)], "preempt")
    statement.pipeline(tasks[3:4], [2], evicted=True)
    after = snapshot(world.cluster)

    saved = statement.save()
    statement.rollback()
    other = session.statement()
    assert other.recover(saved) is None

    assert same(after, snapshot(world.cluster))


def test_whatever_a_failing_action_left_open_is_undone() -> None:
    world = crowded_world()
    before = snapshot(world.cluster)
    session = world.session()
    session.statement().allocate(list(world.cluster.jobs["default/new"].pending.values())[:2], [0, 1])

    session.restore()

    assert same(before, snapshot(world.cluster))


def test_a_cycle_that_commits_nothing_changes_nothing() -> None:
    world = World(
        nodes=[node("n0", cpu=2)],
        jobs=[gang("large", pods=3, cpu=1), gang("larger", pods=4, cpu=1, created=random.Random(1).random())],
    )
    before = snapshot(world.cluster)

    assert world.cycle().is_empty

    assert same(before, snapshot(world.cluster))
