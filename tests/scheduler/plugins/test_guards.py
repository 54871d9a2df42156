"""Plugins that let in, hold back or protect: sla, resourcequota, nodegroup, tdm, pdb, cdp, usage."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest

from volcano.api import keys
from volcano.api.core import PodDisruptionBudget, ResourceQuota
from volcano.scheduler.cluster.usage import Measured, NodeUsage
from volcano.scheduler.framework.reasons import Stage
from volcano.scheduler.plugins.tdm import window
from volcano.testing.builders import EPOCH, Gang, gang, node, pod, queue
from volcano.testing.world import World

NOW = EPOCH.timestamp() + 1000


def conf(*plugins: str, actions: str = "enqueue, allocate, backfill") -> str:
    entries = ", ".join(plugin if plugin.startswith("{") else f"{{name: {plugin}}}" for plugin in plugins)
    return f'actions: "{actions}"\ntiers:\n- plugins: [{entries}]\n'


def annotated(job: Gang, **annotations: str) -> Gang:
    job.pod_group.metadata.annotations.update({key.replace("__", "/"): text for key, text in annotations.items()})
    return job


def test_an_overdue_job_is_let_in_whatever_the_cluster_has() -> None:
    jobs = [
        gang("late", phase="Pending", cpu=99, min_resources={"cpu": 99}, created=0),
        gang("new", phase="Pending", cpu=99, min_resources={"cpu": 99}, created=900),
    ]
    entry = "{name: sla, arguments: {sla-waiting-time: 10m}}"
    tiers = f"{conf(entry)}- plugins: [{{name: overcommit}}]\n"
    world = World(nodes=[node("n1", cpu=1)], jobs=jobs, conf=tiers, now=NOW)

    decisions = world.cycle()

    assert decisions.podgroups["default/late"].phase == "Inqueue"
    assert decisions.podgroups["default/new"].phase == "Pending"


def test_jobs_are_served_by_deadline() -> None:
    jobs = [
        gang("calm", cpu=1, created=0),
        annotated(gang("urgent", cpu=1, created=500), **{keys.SLA_WAITING_TIME: "1m"}),
        annotated(gang("soon", cpu=1, created=400), **{keys.SLA_WAITING_TIME: "1h"}),
    ]
    world = World(nodes=[node("n1", cpu=9)], jobs=jobs, conf=conf("sla", "gang"), now=NOW)

    order = [name for name, _ in world.cycle().bind_order]

    assert order == ["default/urgent-worker-0", "default/soon-worker-0", "default/calm-worker-0"]


def test_a_namespace_quota_holds_a_job_back_with_its_numbers() -> None:
    quota = msgspec.convert(
        {
            "metadata": {"name": "team", "namespace": "default"},
            "status": {"hard": {"cpu": "4", "pods": "9"}, "used": {"cpu": "1500m"}},
        },
        ResourceQuota,
    )
    jobs = [
        gang("first", phase="Pending", cpu=2, min_resources={"cpu": "2"}, created=0),
        gang("second", phase="Pending", cpu=1, min_resources={"cpu": "1"}, created=1),
    ]
    world = World(nodes=[node("n1", cpu=9)], jobs=jobs, conf=conf("resourcequota", "gang"))
    world.add("resourcequotas", quota)

    decisions = world.cycle()

    assert decisions.podgroups["default/first"].phase == "Inqueue"
    reason = decisions.reason("second")
    assert reason is not None
    assert (reason.stage, reason.need, reason.have) == (Stage.ENQUEUE, 4.5, 4.0)
    assert reason.message == "resource quota insufficient, requested: cpu=1, used: cpu=1500m, limited: cpu=4"


def grouped(name: str, group: str) -> Any:
    return node(name, cpu=8, labels={keys.NODEGROUP_NAME: group} if group else {})


def bound_to(queue_object: Any, affinity: dict[str, Any]) -> Any:
    document = msgspec.to_builtins(queue_object)
    document["spec"]["affinity"] = affinity
    return msgspec.convert(document, type(queue_object))


def test_a_queue_stays_in_its_groups_and_below_its_caps() -> None:
    cap = {keys.NODEGROUP_RESOURCE_LIMITS: '{"red": {"cpu": 3}}'}
    near = {"requiredDuringSchedulingIgnoredDuringExecution": ["red"]}
    owner = bound_to(queue("q", annotations=cap), {"nodeGroupAffinity": near})
    world = World(
        nodes=[grouped("r1", "red"), grouped("r2", "red"), grouped("b1", "blue"), grouped("x1", "")],
        queues=[owner],
        jobs=[gang("a", pods=9, min_available=1, cpu=1, queue="q")],
        conf=conf("gang", "nodegroup", "nodeorder"),
    )

    decisions = world.cycle()

    assert len(decisions.binds) == 3
    assert set(decisions.binds.values()) <= {"r1", "r2"}
    message = decisions.pods[0].message
    assert "2 node group resource limit exceeded" in message
    assert "1 node does not satisfy the node group affinity" in message
    assert "1 node group label not found" in message


@pytest.mark.parametrize(
    ("text", "clock", "inside"),
    [
        ("1:00-8:00", "07:59", True),
        ("1:00-8:00", "08:01", False),
        ("22:00-06:00", "23:00", True),
        ("22:00-06:00", "05:00", True),
        ("22:00-06:00", "12:00", False),
        ("0:00-0:00", "12:00", True),
    ],
)
def test_windows_may_run_over_midnight(text: str, clock: str, inside: bool) -> None:
    now = datetime.datetime.fromisoformat(f"2026-01-05T{clock}:00").timestamp()

    assert window.parse(text).contains(now) is inside


def test_revocable_nodes_take_only_preemptable_work_and_only_in_their_window() -> None:
    entry = "{name: tdm, arguments: {tdm.revocable-zone.night: '0:00-0:00', tdm.revocable-zone.shut: '3:00-3:01'}}"
    zones = {"always": "night", "never": "shut"}
    movable = {keys.PREEMPTABLE: "true"}
    world = World(
        nodes=[node(name, cpu=1, labels={keys.REVOCABLE_ZONE: zone}) for name, zone in zones.items()],
        jobs=[gang("fixed", cpu=1), gang("movable", pods=[pod("m-w-0", group="movable", cpu=1, annotations=movable)])],
        conf=conf("gang", entry),
        now=datetime.datetime.fromisoformat("2026-01-05T12:00:00").timestamp(),
    )

    decisions = world.cycle()

    assert decisions.binds == {"default/m-w-0": "always"}
    message = next(verdict.message for verdict in decisions.pods if verdict.name == "fixed-worker-0")
    assert "1 not allow to dispatch to revocable node" in message
    assert "1 current time beyond revocable zone shut:3:00-3:01" in message


EVICTING = "allocate, preempt"


def crowded(*plugins: str, **pod_options: Any) -> World:
    """A claimant of 2 CPUs on a full node with four running pods of lower rank."""
    from volcano.testing.builders import priority_class

    return World(
        nodes=[node("n1", cpu=4)],
        priority_classes=[priority_class("high", 100), priority_class("low", 1)],
        jobs=[
            gang(
                "old",
                pods=4,
                min_available=1,
                cpu=1,
                nodes=["n1"] * 4,
                phase="Running",
                priority_class="low",
                **pod_options,
            ),
            gang("claim", pods=1, cpu=2, priority_class="high"),
        ],
        conf=conf("priority", "gang", "predicates", "nodeorder", *plugins, actions=EVICTING),
        now=NOW,
    )


def test_without_protection_two_pods_make_room() -> None:
    assert len(crowded().cycle().evictions) == 2


@pytest.mark.parametrize(("allowed", "evictions"), [(2, 2), (1, 0), (0, 0)])
def test_a_disruption_budget_is_kept(allowed: int, evictions: int) -> None:
    world = crowded("pdb", labels={"app": "x"})
    budget = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
        "status": {"disruptionsAllowed": allowed},
    }
    world.add("poddisruptionbudgets", msgspec.convert(budget, PodDisruptionBudget))

    assert len(world.cycle().evictions) == evictions


def test_pods_without_labels_are_under_no_budget() -> None:
    assert len(crowded("pdb").cycle().evictions) == 2


@pytest.mark.parametrize(("seconds_ago", "evictions"), [(30, 0), (90, 2)])
def test_who_was_just_placed_is_left_alone(seconds_ago: int, evictions: int) -> None:
    world = crowded("cdp", annotations={keys.COOLDOWN_TIME: "1m"})
    since = datetime.datetime.fromtimestamp(NOW - seconds_ago, tz=datetime.UTC)
    for task in list(world.cluster.tasks.values()):
        if task.name.startswith("old"):
            document = msgspec.to_builtins(task.pod)
            condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": since}
            document["status"]["conditions"] = [condition]
            world.update("pods", msgspec.convert(document, type(task.pod)))

    assert len(world.cycle().evictions) == evictions


def test_hot_nodes_are_refused_and_cool_ones_preferred() -> None:
    world = World(
        nodes=[node(name, cpu=8) for name in ("hot", "warm", "cool")],
        jobs=[gang("a", cpu=1)],
        conf=conf("gang", "usage"),
        now=NOW,
    )
    usage = world.cluster.index(NodeUsage)
    usage.put("hot", Measured(cpu_percent=95, memory_percent=10, at=NOW))
    usage.put("warm", Measured(cpu_percent=60, memory_percent=10, at=NOW))
    usage.put("cool", Measured(cpu_percent=20, memory_percent=10, at=NOW))

    assert world.cycle().binds == {"default/a-worker-0": "cool"}
    for name in ("warm", "cool"):
        usage.put(name, Measured(cpu_percent=10, memory_percent=90, at=NOW))
    world.add_gang(gang("b", cpu=1))
    message = world.cycle().pods[0].message
    assert "1 the CPU load of the node exceeds the upper limit." in message
    assert "2 the memory load of the node exceeds the upper limit." in message


def test_crowded_nodes_are_relieved_as_far_as_idle_ones_can_take_it() -> None:
    entry = "{name: rescheduling, arguments: {interval: 1m, strategies: [{name: lowNodeUtilization, params: PARAMS}]}}"
    params = "{thresholds: {cpu: 30, memory: 30}, targetThresholds: {cpu: 60, memory: 60}}"
    world = World(
        nodes=[node("crowded", cpu=10), node("idle", cpu=10), node("unknown", cpu=10)],
        jobs=[gang("a", pods=8, min_available=1, cpu=1, memory="1Gi", nodes=["crowded"] * 8, phase="Running")],
        conf=conf("gang", entry.replace("PARAMS", params), actions="shuffle"),
        now=NOW,
    )
    usage = world.cluster.index(NodeUsage)
    usage.put("crowded", Measured(cpu_percent=85, memory_percent=20, at=NOW))
    usage.put("idle", Measured(cpu_percent=10, memory_percent=10, at=NOW))

    assert world.cycle().evictions == [], "the first session starts the clock"
    world.now += 61
    evicted = [eviction.name for eviction in world.cycle().evictions]

    assert evicted == ["a-worker-0", "a-worker-1", "a-worker-2"], "from 85 to 55 percent"
    assert world.cycle().evictions == []
