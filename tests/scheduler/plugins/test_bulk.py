"""Placing identical replicas together has the outcome of placing them one by one, whatever the configuration."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from volcano.api.core import Taint, Toleration
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.cluster.usage import Measured, NodeUsage
from volcano.scheduler.framework import registry as registries
from volcano.scheduler.framework.plugin import Plugin
from volcano.testing.builders import gang, node, queue
from volcano.testing.world import World

GPU = "nvidia.com/gpu"
TIERS = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
CONFS = {
    "default": TIERS,
    "binpack": f"{TIERS}  - name: binpack\n    arguments:\n      binpack.weight: 10\n",
    "strategy": f"{TIERS}  - name: resource-strategy-fit\n    arguments:\n      resources:\n"
    f"        cpu: {{type: MostAllocated, weight: 2}}\n        {GPU}: {{type: LeastAllocated, weight: 3}}\n",
    "usage": f"{TIERS}  - name: usage\n    arguments:\n      estimator: {{risk_threshold: 0.3, risk_factor: 2.0}}\n",
}


class OneByOne(Plugin):
    """Lets only one task through at a time."""

    name = "onebyone"

    def allocatable(self, queue: Queue, task: Task) -> bool:
        return True


nodes_drawn = st.lists(
    st.tuples(st.integers(1, 9), st.integers(2, 12), st.integers(0, 3), st.sampled_from(["", "soft", "hard"])),
    min_size=1,
    max_size=7,
)
jobs_drawn = st.lists(
    st.tuples(
        st.integers(1, 9),  # pods
        st.integers(0, 9),  # minimum
        st.integers(1, 5),  # half CPUs each
        st.integers(0, 3),  # GiB each
        st.integers(0, 1),  # GPUs each
        st.booleans(),  # tolerates the hard taint
        st.sampled_from([0, 0, 8080]),  # host port
        st.sampled_from(["a", "b"]),  # queue
    ),
    min_size=1,
    max_size=5,
)


def world_of(conf: str, sizes: list[Any], drawn: list[Any]) -> World:
    effects = {"soft": "PreferNoSchedule", "hard": "NoSchedule"}
    nodes = [
        node(
            f"n{i}",
            cpu=cpu,
            memory=f"{memory}Gi",
            taints=[Taint(key=kind, effect=effects[kind])] if kind else [],
            **{GPU: gpus},
        )
        for i, (cpu, memory, gpus, kind) in enumerate(sizes)
    ]
    tolerations = [Toleration(key="hard", operator="Exists")]
    gangs = [
        gang(
            f"g{number}",
            pods=pods,
            min_available=min(minimum, pods),
            cpu=f"{halves * 500}m",
            memory=f"{memory}Gi" if memory else None,
            resources={GPU: gpus} if gpus else {},
            tolerations=tolerations if tolerates else [],
            host_port=port,
            queue=name,
            created=number,
        )
        for number, (pods, minimum, halves, memory, gpus, tolerates, port, name) in enumerate(drawn)
    ]
    world = World(
        nodes=nodes,
        queues=[queue("a", weight=2), queue("b", capability={"cpu": 6})],
        jobs=gangs,
        conf=conf,
        registry=registries.built_in().extended([OneByOne]),
        seed=7,
    )
    usage = world.cluster.index(NodeUsage)
    for i in range(len(nodes)):
        usage.put(f"n{i}", Measured(cpu_percent=7.0 * i % 60, memory_percent=5.0 * i % 60, at=0.0))
    return world


@pytest.mark.parametrize("name", CONFS)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nodes_drawn, jobs_drawn)
def test_bulk_equals_one_by_one(name: str, sizes: list[Any], drawn: list[Any]) -> None:
    together = world_of(CONFS[name], sizes, drawn).cycle()
    single = world_of(f"{CONFS[name]}  - name: onebyone\n", sizes, drawn).cycle()

    assert together.binds == single.binds
    assert together.pipelined == single.pipelined


@pytest.mark.parametrize("name", CONFS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nodes_drawn, jobs_drawn)
def test_a_repaired_board_equals_a_new_one(name: str, sizes: list[Any], drawn: list[Any]) -> None:
    world = world_of(CONFS[name], sizes, drawn)
    session = world.session()
    tasks = [next(iter(job.pending.values())) for job in session.jobs.values()]
    boards = [session.board(task.profile) for task in tasks]
    for board in boards:
        board.scores(board.codes == 0)
    statement = session.statement()
    for task in tasks:
        board = session.board(task.profile)
        board.refresh()
        feasible = board.rows[(board.codes == 0) & (board.idle_room > 0)]
        if len(feasible):
            statement.allocate([task], [int(feasible[0])])

    for board in boards:
        board.refresh()
        fresh = type(board)(session, board.profile)
        competing = fresh.codes == 0
        assert (board.codes == fresh.codes).all()
        assert (board.idle_room == fresh.idle_room).all()
        assert (board.scores(competing) == fresh.scores(competing)).all()
    statement.rollback()
    session.restore()
