"""Gang eviction evicts nobody whom its claimant can do without: with any one of the victims back, it is not placed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import HealthCheck, event, given, settings, strategies as st

from tests.scheduler.properties.worlds import CONFS
from volcano.api import keys
from volcano.api.core import Pod
from volcano.scheduler.actions import gang_sparing
from volcano.scheduler.framework.decisions import Decisions
from volcano.testing.builders import gang, node, pod, priority_class, queue
from volcano.testing.world import World

SOME = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
CLAIM = "claim"
ALL_ACTIONS = {
    "gang-eviction": "enqueue, allocate, backfill, gangpreempt, gangreclaim",
    "gang-eviction-tree": "enqueue, allocate, backfill, gangreclaim, gangpreempt",
}

PODS = st.tuples(st.integers(0, 3), st.integers(1, 3))
"""Whose, and with how many CPUs."""
NODES = st.lists(st.tuples(st.integers(2, 8), st.lists(PODS, min_size=1, max_size=6)), min_size=1, max_size=4)
JOBS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4)), min_size=4, max_size=4)
"""The queue and the minimum of each job that runs."""
CLAIMS = st.tuples(st.integers(1, 3), st.integers(1, 4))
"""Pods, and how many CPUs each."""

Nodes = list[tuple[int, list[tuple[int, int]]]]
Jobs = list[tuple[str, int]]


def running(nodes: Nodes) -> dict[int, list[Pod]]:
    """By job, as far as there is room."""
    found: defaultdict[int, list[Pod]] = defaultdict(list)
    for number, (free, members) in enumerate(nodes):
        for job, cpu in members:
            if cpu <= free:
                free -= cpu
                name = f"g{job}-{len(found[job])}"
                found[job].append(pod(name, group=f"g{job}", cpu=cpu, node=f"n{number}", priority=1))
    return found


def world(
    conf: str, nodes: Nodes, jobs: Jobs, claim: tuple[int, int], gone: Collection[str] = (), *, settled: bool = False
) -> World:
    """Without the pods that have gone; where it is settled, who is left stays."""
    text = CONFS[conf].replace(ALL_ACTIONS[conf], "allocate") if settled else CONFS[conf]
    gangs = []
    for job, members in running(nodes).items():
        in_queue, minimum = jobs[job]
        left = [_fixed(member) if settled else member for member in members if member.metadata.key not in gone]
        gangs.append(
            gang(
                f"g{job}",
                pods=left,
                min_available=min(minimum, len(members)),
                queue=in_queue,
                priority_class="low",
                phase="Running",
            )
        )
    pods, cpu = claim
    gangs.append(gang(CLAIM, pods=pods, min_available=pods, cpu=cpu, queue="b", priority_class="high", created=9))
    return World(
        nodes=[node(f"n{number}", cpu=cpu) for number, (cpu, _) in enumerate(nodes)],
        queues=[
            queue("root"),
            queue("a", parent="root", deserved={"cpu": 2}),
            queue("b", parent="root", deserved={"cpu": 16}),
        ],
        priority_classes=[priority_class("high", 100), priority_class("low", 1)],
        jobs=gangs,
        conf=text,
    )


def _fixed(member: Pod) -> Pod:
    notes = {**member.metadata.annotations, keys.PREEMPTABLE: "false"}
    return msgspec.structs.replace(member, metadata=msgspec.structs.replace(member.metadata, annotations=notes))


def units(jobs: Jobs, nodes: Nodes, decisions: Decisions) -> Iterator[set[str]]:
    """Victims that are given up together: all of a gang that falls; of others, one by one."""
    members = {f"default/g{job}": (len(found), jobs[job][1]) for job, found in running(nodes).items()}
    lost = Counter(eviction.job for eviction in decisions.evictions)
    for job, number in lost.items():
        evicted = {eviction.key for eviction in decisions.evictions if eviction.job == job}
        held, minimum = members[job]
        if held - number < min(minimum, held):
            yield evicted
        else:
            yield from ({key} for key in evicted)


@pytest.mark.parametrize("conf", ALL_ACTIONS)
@SOME
@given(NODES, JOBS, CLAIMS)
def test_every_victim_is_needed(conf: str, nodes: Nodes, jobs: Jobs, claim: tuple[int, int]) -> None:
    decisions = world(conf, nodes, jobs, claim).cycle()
    victims = {eviction.key for eviction in decisions.evictions}
    event(f"evicts: {bool(victims)}")
    if not victims:
        return

    assert _is_placed(world(conf, nodes, jobs, claim, victims, settled=True), claim)
    for unit in units(jobs, nodes, decisions):
        assert not _is_placed(world(conf, nodes, jobs, claim, victims - unit, settled=True), claim), unit


@pytest.mark.parametrize("conf", ALL_ACTIONS)
@SOME
@given(NODES, JOBS, CLAIMS, st.integers(0, 40))
def test_what_is_not_simulated_any_more_only_spares_fewer(
    conf: str, nodes: Nodes, jobs: Jobs, claim: tuple[int, int], work: int
) -> None:
    thorough = world(conf, nodes, jobs, claim).cycle()
    with patch.object(gang_sparing, "WORK", work):
        hasty = world(conf, nodes, jobs, claim).cycle()

    victims = {eviction.key for eviction in hasty.evictions}
    event(f"more victims: {len(victims) > len(thorough.evictions)}")
    assert {eviction.key for eviction in thorough.evictions} <= victims
    assert hasty.pipelined.keys() == thorough.pipelined.keys()
    for unit in units(jobs, nodes, hasty):
        assert len(unit) == 1 or unit == {one.metadata.key for one in running(nodes)[_number(unit)]}, "fell in part"


def _number(unit: set[str]) -> int:
    """Of the job whose pods these are."""
    return int(next(iter(unit)).split("/g")[1].split("-")[0])


def _is_placed(settled: World, claim: tuple[int, int]) -> bool:
    return len(settled.cycle().binds) == claim[0]
