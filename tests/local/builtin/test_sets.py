"""Stateful sets and daemon sets: what is due next, and their life against an API server."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.local.builtin.test_controllers import TEMPLATE, world
from tests.waiting import until
from volcano.api.meta import JsonObject
from volcano.api.resources import (
    CONTROLLER_REVISIONS,
    DAEMON_SETS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    STATEFUL_SETS,
)
from volcano.local.builtin import ordinals, placing, revisions
from volcano.local.builtin.views import ConditionView, LabelledMeta, PodSpecView, PodStatusView, PodView

SELECTOR = {"matchLabels": {"app": "web"}}
READY = [ConditionView(type="Ready", status="True", last_transition_time="2026-01-01T00:00:00Z")]


def stateful(replicas: int, **spec: Any) -> JsonObject:
    return {"metadata": {"name": "db", "namespace": "n", "uid": "u"}, "spec": {"replicas": replicas, **spec}}


def pod(name: str, *, ready: bool = True, node: str = "", phase: str = "Running", going: bool = False) -> PodView:
    meta = LabelledMeta(
        name=name, namespace="n", uid=name, deletion_timestamp="2026-01-01T00:00:00Z" if going else None
    )
    return PodView(
        metadata=meta,
        spec=PodSpecView(node_name=node),
        status=PodStatusView(phase=phase, conditions=READY if ready else []),
    )


def due(owner: JsonObject, *pods: PodView, outdated: tuple[str, ...] = ()) -> tuple[list[int], list[str]]:
    plan = ordinals.plan(owner, pods, outdated)
    return plan.create, [item.metadata.name for item in plan.delete]


def test_numbered_pods_come_one_after_the_other() -> None:
    assert due(stateful(3)) == ([0], [])
    assert due(stateful(3), pod("db-0", ready=False)) == ([], [])
    assert due(stateful(3), pod("db-0")) == ([1], [])
    assert due(stateful(3, podManagementPolicy="Parallel"), pod("db-1")) == ([0, 2], [])
    assert due(stateful(2, ordinals={"start": 5})) == ([5], [])


def test_numbered_pods_go_highest_first() -> None:
    many = [pod(f"db-{number}") for number in range(4)]
    assert due(stateful(1), *many) == ([], ["db-3"])
    assert due(stateful(1), *many[:3], pod("db-3", going=True)) == ([], [])
    assert due(stateful(1, podManagementPolicy="Parallel"), *many) == ([], ["db-3", "db-2", "db-1"])


def test_of_old_templates_as_many_are_remembered_as_the_set_says() -> None:
    known = [{"metadata": {"name": f"db-{number}"}, "revision": number} for number in range(1, 6)]
    owner = stateful(1, revisionHistoryLimit=2) | {"status": {"currentRevision": "db-1", "updateRevision": "db-5"}}

    assert revisions.superfluous(owner, known) == ["db-2"]
    assert revisions.superfluous(stateful(1), known) == []


def test_ended_pods_are_made_again() -> None:
    assert due(stateful(1), pod("db-0", ready=False, phase="Failed")) == ([], ["db-0"])


def test_a_new_template_replaces_one_pod_at_a_time_down_to_the_partition() -> None:
    pods = [pod("db-0"), pod("db-1"), pod("db-2")]
    everyone = ("db-0", "db-1", "db-2")
    assert due(stateful(3), *pods, outdated=everyone) == ([], ["db-2"])
    assert due(stateful(3), pods[0], pod("db-1", ready=False), outdated=everyone) == ([], [])
    partition = {"rollingUpdate": {"partition": 2}}
    assert due(stateful(3, updateStrategy=partition), *pods, outdated=everyone[:2]) == ([], [])
    assert due(stateful(3, updateStrategy={"type": "OnDelete"}), *pods, outdated=everyone) == ([], [])


def test_daemons_run_where_they_suit() -> None:
    owner: JsonObject = {"metadata": {"name": "d", "namespace": "n"}, "spec": {"template": {"spec": {}}}}
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    nodes: list[JsonObject] = [
        {"metadata": {"name": "a", "labels": {"disk": "ssd"}}},
        {"metadata": {"name": "b"}, "spec": {"taints": [taint]}},
        {"metadata": {"name": "c"}, "spec": {"taints": [cordoned]}},
    ]
    assert placing.plan(owner, nodes, []).create == ["a", "c"]
    owner["spec"]["template"]["spec"] = {"nodeSelector": {"disk": "ssd"}}
    assert placing.plan(owner, nodes, []).create == ["a"]
    owner["spec"]["template"]["spec"] = {"tolerations": [{"operator": "Exists"}]}
    assert placing.plan(owner, nodes, [pod("x", node="a")]).create == ["b", "c"]


def test_daemons_leave_nodes_that_suit_no_more_and_are_replaced_one_by_one() -> None:
    owner: JsonObject = {"metadata": {"name": "d", "namespace": "n"}, "spec": {"template": {"spec": {}}}}
    nodes: list[JsonObject] = [{"metadata": {"name": name}} for name in ("a", "b")]
    pods = [pod("x", node="a"), pod("y", node="b"), pod("z", node="gone")]
    assert [item.metadata.name for item in placing.plan(owner, nodes, pods).delete] == ["z"]
    assert len(placing.plan(owner, nodes, pods[:2], ("x", "y")).delete) == 1
    assert placing.status(owner, nodes, pods, ())["numberMisscheduled"] == 1


def test_a_stateful_set_grows_in_order_keeps_names_and_claims_and_follows_its_template() -> None:
    asyncio.run(_life_of_a_stateful_set())


def test_a_daemon_set_follows_the_nodes() -> None:
    asyncio.run(_life_of_a_daemon_set())


async def _life_of_a_stateful_set() -> None:
    async with world() as here:
        claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none"}}
        claim["spec"] |= {"resources": {"requests": {"storage": "1Gi"}}}  # type: ignore[operator]
        spec = {"replicas": 2, "serviceName": "db", "selector": SELECTOR, "template": TEMPLATE}
        await here.create(STATEFUL_SETS, "db", spec | {"volumeClaimTemplates": [claim]})

        await until(lambda: _ready(here, STATEFUL_SETS, "db", "readyReplicas", 2))
        assert sorted(await here.names(PODS)) == ["db-0", "db-1"]
        assert sorted(await here.names(PERSISTENT_VOLUME_CLAIMS)) == ["data-db-0", "data-db-1"]

        template = {**TEMPLATE, "spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}
        await here.client.patch(STATEFUL_SETS.untyped, "db", {"spec": {"template": template}}, "default")
        await until(lambda: _images(here, "nginx:2", 2))
        await here.client.patch(STATEFUL_SETS.untyped, "db", {"spec": {"replicas": 1}}, "default")
        await until(lambda: _names(here, ["db-0"]))

        assert await _history(here) == [(1, "nginx"), (2, "nginx:2")]
        await here.client.patch(STATEFUL_SETS.untyped, "db", {"spec": {"template": TEMPLATE}}, "default")
        await until(lambda: _images(here, "nginx", 1))
        assert await _history(here) == [(2, "nginx:2"), (3, "nginx")]


async def _life_of_a_daemon_set() -> None:
    async with world() as here:
        await here.create(DAEMON_SETS, "d", {"selector": SELECTOR, "template": TEMPLATE})
        await until(lambda: _ready(here, DAEMON_SETS, "d", "numberReady", 2))

        await here.client.delete(NODES, "sim-001")
        await until(lambda: _ready(here, DAEMON_SETS, "d", "desiredNumberScheduled", 1))


async def _history(here: Any) -> list[tuple[int, str]]:
    """The numbers and images that are remembered."""
    revisions = (await here.client.list(CONTROLLER_REVISIONS.untyped, "default")).items
    return sorted(
        (item["revision"], item["data"]["spec"]["template"]["spec"]["containers"][0]["image"]) for item in revisions
    )


async def _ready(here: Any, resource: Any, name: str, field: str, count: int) -> bool:
    return bool((await here.status(resource, name)).get(field) == count)


async def _names(here: Any, names: list[str]) -> bool:
    return sorted(await here.names(PODS)) == names


async def _images(here: Any, image: str, count: int) -> bool:
    pods = (await here.client.list(PODS.untyped, "default")).items
    return [item["spec"]["containers"][0]["image"] for item in pods] == [image] * count
