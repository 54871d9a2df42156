"""What holds after every cycle of every world, whatever the configuration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.scheduler.properties.test_properties import stays_at_rest
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.tasks import ALLOCATED_STATUSES, Status
from volcano.scheduler.framework import conf as conf_file
from volcano.scheduler.plugins.reservations import Claims
from volcano.testing.builders import Gang, gang, node, priority_class, queue
from volcano.testing.world import World

CONFS = {
    "default": conf_file.DEFAULT_CONF,
    "chart": conf_file.DEFAULT_CONF.replace("nodeorder", "nodeorder\n  - name: binpack").replace(
        "- name: gang", "- name: gang\n    enablePreemptable: false"
    ),
    "evicting": """
actions: "enqueue, allocate, backfill, preempt, reclaim"
tiers:
- plugins:
  - name: priority
  - name: gang
    enableJobStarving: false
  - name: conformance
  - name: capacity
- plugins:
  - name: overcommit
  - name: predicates
  - name: nodeorder
""",
}

nodes = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 6)), min_size=1, max_size=6)
jobs = st.lists(
    st.tuples(
        st.integers(1, 6),  # pods
        st.integers(0, 6),  # minimum
        st.integers(0, 4),  # CPUs each
        st.sampled_from(["a", "b"]),
        st.sampled_from(["high", "low"]),
        st.sampled_from(["Inqueue", "Pending", "Running"]),
        st.lists(st.integers(0, 5), max_size=3),  # where its first pods run already
        st.booleans(),  # says minResources
    ),
    min_size=1,
    max_size=6,
)


def world_of(conf: str, sizes: list[tuple[int, int]], drawn: list[tuple]) -> World:  # type: ignore[type-arg]
    free = [[cpu, pods] for cpu, pods in sizes]
    gangs: list[Gang] = []
    for number, (pods, minimum, cpu, in_queue, rank, phase, placed, says) in enumerate(drawn):
        on: list[str] = []
        for index in placed[:pods]:
            room = free[index % len(free)]
            if room[0] >= cpu and room[1] >= 1:
                room[0] -= cpu
                room[1] -= 1
                on.append(f"n{index % len(free)}")
        gangs.append(
            gang(
                f"g{number}",
                pods=pods,
                min_available=min(minimum, pods),
                cpu=cpu or None,
                queue=in_queue,
                priority_class=rank,
                phase=phase,
                nodes=on,
                created=number,
                min_resources={"cpu": cpu * pods} if says else None,
            )
        )
    return World(
        nodes=[node(f"n{i}", cpu=cpu, pods=pods) for i, (cpu, pods) in enumerate(sizes)],
        queues=[
            queue("root"),
            queue("a", deserved={"cpu": 8}, capability={"cpu": 12}),
            queue("b", deserved={"cpu": 8}),
        ],
        priority_classes=[priority_class("high", 100), priority_class("low", 1)],
        jobs=gangs,
        conf=conf,
    )


@pytest.mark.parametrize("name", CONFS)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nodes, jobs)
def test_after_a_cycle(name: str, sizes: list[tuple[int, int]], drawn: list[tuple]) -> None:  # type: ignore[type-arg]
    world = world_of(CONFS[name], sizes, drawn)
    cluster = world.cluster
    ready_before = {key: job.tally.ready for key, job in cluster.jobs.items()}

    decisions = world.cycle()

    _no_node_is_over_allocated(world)
    _books_agree(world)
    for key, job in cluster.jobs.items():
        evicted = any(eviction.job == key for eviction in decisions.evictions)
        started = job.tally.ready > ready_before[key]
        if started and not evicted:
            assert job.ready_count >= job.min_available, f"{key} has {job.tally} of {job.min_available}"
    assert bool(decisions.evictions) <= bool(decisions.pipelined), "an eviction without a placed claimant"
    claimed = {key for key, state in decisions.tasks.items() if state.status == "Pipelined"}
    assert set(decisions.pipelined) == claimed

    stays_at_rest(world)


def _no_node_is_over_allocated(world: World) -> None:
    table = world.cluster.nodes
    assert (table.idle[table.active] >= 0).all()


def _books_agree(world: World) -> None:
    """Incremental sums equal sums from scratch."""
    cluster = world.cluster
    for row, members in enumerate(cluster.nodes.tasks):
        used = np.zeros(cluster.dimensions.width, dtype=np.int64)
        for task in members.values():
            used += task.profile.request
        assert (cluster.nodes.used[row] == used).all()
        assert (cluster.nodes.requested[row] == used).all()
    nodes = cluster.nodes
    assert (nodes.future == nodes.idle + nodes.releasing - nodes.pipelined).all()
    for owned in cluster.queues.values():
        allocated = np.zeros(cluster.dimensions.width, dtype=np.int64)
        for job in owned.jobs.values():
            held = np.zeros(cluster.dimensions.width, dtype=np.int64)
            for task in job.tasks.values():
                if task.status in ALLOCATED_STATUSES:
                    held += task.profile.request
            assert (job.allocated == held).all()
            assert job.pending.keys() == {t.uid for t in job.tasks.values() if t.status is Status.PENDING}
            allocated += held
        assert (owned.allocated == allocated).all()
    waiting = {key for key, job in cluster.scheduled.items() if job.is_restless}
    assert {job.key for job in cluster.restless_jobs()} == waiting
    assert _sums(Claims.of(cluster)) == _sums(_from_scratch(cluster))


def _from_scratch(cluster: Cluster) -> Claims:
    claims = Claims(cluster)
    claims.refresh()
    return claims


def _sums(claims: Claims) -> tuple[list[int], ...]:
    sums = [amount for by_queue in (claims.claimed, claims.elastic) for _, amount in sorted(by_queue.items())]
    return tuple(amount.tolist() for amount in (claims.promised, *sums) if amount.any())
