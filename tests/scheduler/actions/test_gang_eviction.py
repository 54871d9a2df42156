"""gangpreempt, gangreclaim, shuffle: room for whole gangs, and tasks that plugins want moved."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from volcano.scheduler.actions.bundles import bundles_of
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework import registry as registries
from volcano.scheduler.framework.plugin import Plugin
from volcano.testing.builders import Gang, gang, node, pod, priority_class, queue
from volcano.testing.world import World

CONF = """
actions: "{action}"
configurations:
- name: {name}
  arguments:
    allowWholeBundle: {whole}
tiers:
- plugins:
  - name: gang
  - name: priority
  - name: predicates
  - name: capacity
"""


def world(action: str, *jobs: Gang, whole: bool = True, queues: Sequence[object] = ()) -> World:
    return World(
        nodes=[node("n0", cpu=4)],
        jobs=jobs,
        queues=[*queues] or [queue("default")],  # type: ignore[list-item]
        priority_classes=[priority_class("high", 100), priority_class("low", 1)],
        conf=CONF.format(action=action, name=action.partition(",")[0], whole=str(whole).lower()),
    )


def running(name: str, pods: int, minimum: int, **options: object) -> Gang:
    options.setdefault("priority_class", "low")
    return gang(name, pods=pods, cpu=1, min_available=minimum, phase="Running", nodes=["n0"] * pods, **options)  # type: ignore[arg-type]


def test_what_a_job_can_spare_goes_first() -> None:
    decisions = world("gangpreempt", running("old", 4, 2), gang("new", pods=2, cpu=1, priority_class="high")).cycle()

    assert len(decisions.evictions) == 2
    assert decisions.pipelined.keys() == {"default/new-worker-0", "default/new-worker-1"}


def test_a_job_is_broken_only_as_a_whole_and_only_where_that_is_allowed() -> None:
    claim = gang("new", pods=3, cpu=1, priority_class="high")

    assert len(world("gangpreempt", running("old", 4, 4), claim).cycle().evictions) == 4
    assert world("gangpreempt", running("old", 4, 4), claim, whole=False).cycle().evictions == []


def test_a_gang_that_would_not_fit_evicts_nobody() -> None:
    decisions = world("gangpreempt", running("old", 4, 0), gang("new", pods=5, cpu=1, priority_class="high")).cycle()

    assert decisions.evictions == []
    assert decisions.pipelined == {}


def test_a_gang_that_needs_no_victims_is_bound_by_allocate_and_keeps_its_room_from_others() -> None:
    jobs = (
        running("old", 2, 1),
        gang("first", pods=2, cpu=1, priority_class="high", created=1),
        gang("second", pods=1, cpu=1, priority_class="high", created=2),
    )

    decisions = world("gangpreempt, allocate", *jobs).cycle()

    assert sorted(decisions.binds) == ["default/first-worker-0", "default/first-worker-1"]
    assert len(decisions.evictions) == 1
    assert decisions.pipelined.keys() == {"default/second-worker-0"}


def test_queues_take_back_what_they_deserve_for_a_whole_gang() -> None:
    queues = [queue("a", deserved={"cpu": 2}), queue("b", deserved={"cpu": 2})]

    decisions = world(
        "gangreclaim", running("greedy", 4, 1, queue="a"), gang("needy", pods=2, cpu=1, queue="b"), queues=queues
    ).cycle()

    assert len(decisions.evictions) == 2
    assert len(decisions.pipelined) == 2


@pytest.mark.parametrize(("minimum", "safe", "rest"), [(0, 4, 0), (2, 2, 2), (4, 0, 4)])
def test_bundles(minimum: int, safe: int, rest: int) -> None:
    made = world("gangpreempt", running("old", 4, minimum))
    job = made.cluster.jobs["default/old"]

    sizes = {bundle.is_whole: len(bundle.tasks) for bundle in bundles_of(job, list(job.tasks.values()))}

    assert (sizes.get(False, 0), sizes.get(True, 0)) == (safe, rest)


def test_roles_keep_their_minimum_in_safe_bundles() -> None:
    members = [pod(f"old-{role}-{i}", group="old", cpu=1, role=role, node="n0") for role in ("ps", "w") for i in (0, 1)]
    job = gang("old", pods=members, min_available=2, role_minimums={"ps": 2}, phase="Running")
    made = world("gangpreempt", job)
    old = made.cluster.jobs["default/old"]

    (safe, _) = bundles_of(old, list(old.tasks.values()))

    assert {task.role for task in safe.tasks} == {"w"}


class Picky(Plugin):
    name = "picky"

    def victim_tasks(self, tasks: Sequence[Task]) -> Sequence[Task]:
        return [task for task in tasks if task.name.endswith("-1")]


def test_shuffle_evicts_what_plugins_want_moved() -> None:
    made = World(
        nodes=[node("n0", cpu=4)],
        jobs=[running("old", 3, 0)],
        conf="actions: shuffle\ntiers:\n- plugins:\n  - name: picky\n",
        registry=registries.built_in().extended([Picky]),
    )

    assert [(eviction.key, eviction.cause) for eviction in made.cycle().evictions] == [
        ("default/old-worker-1", "shuffle")
    ]
