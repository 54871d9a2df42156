"""gangpreempt and gangreclaim evict no more than their claimant needs."""

from __future__ import annotations

import pytest

from volcano.scheduler.framework.decisions import Decisions
from volcano.testing.builders import Gang, gang, node, priority_class, queue
from volcano.testing.world import World

CONF = """
actions: "{action}"
tiers:
- plugins:
  - name: gang
  - name: priority
  - name: predicates
  - name: capacity
"""
ACTIONS = {"gangpreempt": "mine", "gangreclaim": "others"}
"""In whose queue the victims are."""

pytestmark = pytest.mark.parametrize("action", ACTIONS)


def evicted(decisions: Decisions) -> set[str]:
    return {eviction.name for eviction in decisions.evictions}


def cycle(action: str, claim: Gang, *jobs: Gang, nodes: dict[str, int]) -> Decisions:
    return World(
        nodes=[node(name, cpu=cpu, labels={"pool": name[0]}) for name, cpu in nodes.items()],
        jobs=[*jobs, claim],
        queues=[queue("mine", deserved={"cpu": 100}), queue("others", deserved={"cpu": 0})],
        priority_classes=[priority_class("high", 100), priority_class("low", 1)],
        conf=CONF.format(action=action),
    ).cycle()


def running(name: str, action: str, on: list[str], minimum: int, cpu: int = 1) -> Gang:
    return gang(
        name,
        pods=len(on),
        cpu=cpu,
        min_available=minimum,
        queue=ACTIONS[action],
        priority_class="low",
        phase="Running",
        nodes=on,
    )


def claiming(pods: int, cpu: int = 1, pool: str = "") -> Gang:
    where = {"pool": pool} if pool else None
    return gang("new", pods=pods, cpu=cpu, queue="mine", priority_class="high", node_selector=where)


def test_of_what_a_job_can_spare_only_what_is_needed(action: str) -> None:
    decisions = cycle(action, claiming(1), running("old", action, ["n0"] * 6, minimum=1), nodes={"n0": 6})

    assert evicted(decisions) == {"old-worker-0"}
    assert decisions.pipelined.keys() == {"default/new-worker-0"}


def test_a_job_whose_room_does_not_help_is_spared_though_it_was_asked_first(action: str) -> None:
    """In whatever order they are asked, one whose node is too small for the claimant is before the one that helps."""
    small = [running(name, action, [name], minimum=1) for name in ("a", "z")]
    large = running("m", action, ["m"], minimum=1, cpu=2)

    decisions = cycle(action, claiming(1, cpu=2), *small, large, nodes={"a": 1, "m": 2, "z": 1})

    assert evicted(decisions) == {"m-worker-0"}
    assert decisions.pipelined == {"default/new-worker-0": "m"}


def test_who_runs_where_the_claimant_may_not_go_is_spared(action: str) -> None:
    old = running("old", action, ["a0", "b0"] * 4, minimum=0)

    decisions = cycle(action, claiming(3, pool="b"), old, nodes={"a0": 4, "b0": 4})

    assert len(evicted(decisions)) == 3
    assert all(int(name.rpartition("-")[2]) % 2 for name in evicted(decisions))


def test_a_job_that_falls_falls_as_a_whole(action: str) -> None:
    """What it could have spared would be left of a broken gang."""
    old = running("old", action, ["n0"] * 4, minimum=3)

    decisions = cycle(action, claiming(2), old, nodes={"n0": 4})

    assert len(evicted(decisions)) == 4
    assert len(decisions.pipelined) == 2
