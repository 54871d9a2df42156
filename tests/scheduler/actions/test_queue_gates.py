"""Pods behind the queue-allocation gate: let out when their queue has room, and only if they asked to be held back."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tests.scheduler.daemon.bench import bench
from tests.waiting import until
from volcano.api import keys
from volcano.api.core import Pod
from volcano.api.core.pods import PodSchedulingGate
from volcano.scheduler.framework.options import QUEUE_ADMISSION_GATES, Options
from volcano.testing.builders import Gang, gang, node, pod, queue
from volcano.testing.world import World

CONF = """
actions: "allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: capacity}]
"""
ASKED = {keys.QUEUE_ALLOCATION_GATE: "true"}


def gated(name: str, *gates: str, asked: bool = True, group: str = "train") -> Pod:
    made = pod(name, group=group, cpu=1, annotations=ASKED if asked else None)
    held = [PodSchedulingGate(name=gate) for gate in (keys.QUEUE_ALLOCATION_GATE, *gates)]
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, scheduling_gates=held))


def admissions(job: Gang, *, gate: bool = True) -> list[str]:
    options = Options(feature_gates={QUEUE_ADMISSION_GATES: gate})
    limited = queue("default", capability={"cpu": 2})
    decisions = World(nodes=[node("n1")], queues=[limited], jobs=[job], conf=CONF, options=options).cycle()
    assert decisions.binds == {}
    return sorted(decisions.admissions)


def test_as_many_are_let_out_as_the_queue_has_room_for() -> None:
    job = gang("train", pods=[gated(f"p{i}") for i in range(3)], min_available=1)

    assert admissions(job) == ["default/p0", "default/p1"]


@pytest.mark.parametrize("held", [gated("p", "example.com/other"), gated("p", asked=False)])
def test_other_gates_and_foreign_ones_stay(held: Pod) -> None:
    assert admissions(gang("train", pods=[held])) == []


def test_without_the_feature_gate_nothing_is_let_out() -> None:
    assert admissions(gang("train", pods=[gated("p")]), gate=False) == []


def test_a_gated_gang_runs_on_a_real_server() -> None:
    async def scenario() -> None:
        async with bench(feature_gates={QUEUE_ADMISSION_GATES: True}) as b:
            await b.submit(gang("train", pods=[gated("p0"), gated("p1")]))

            async def bound() -> bool:
                return all([(await b.pod(name)).spec.node_name for name in ("p0", "p1")])

            await until(bound)
            assert (await b.pod("p0")).spec.scheduling_gates == []

    asyncio.run(scenario())
