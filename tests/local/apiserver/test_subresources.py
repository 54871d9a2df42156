"""Binding, eviction, scale, logs, tokens: the endpoints beside the plain verbs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.apiserver.api import CONFIGMAPS, PODS, Api, api, pod

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def binding(pod_name: str, node: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": pod_name, **metadata}, "target": {"kind": "Node", "name": node}}


async def test_a_binding_places_the_pod_once() -> None:
    async with api() as call:
        made = await call.made(PODS, pod("a"))
        wrong = await call.post(f"{PODS}/a/binding", binding("a", "n1", uid="other"))
        bound = await call.post(
            f"{PODS}/a/binding", binding("a", "n1", uid=made["metadata"]["uid"], annotations={"k": "v"})
        )
        again = await call.post(f"{PODS}/a/binding", binding("a", "n2"))
        found = await call.get(f"{PODS}/a")

        assert (wrong.status, bound.status, bound["status"], again.status) == (409, 201, "Success", 409)
        assert 'pod a is already assigned to node "n1"' in again.message
        assert (found["spec.nodeName"], found["metadata.annotations"]) == ("n1", {"k": "v"})
        assert [(item["type"], item["status"]) for item in found["status.conditions"]] == [("PodScheduled", "True")]


async def test_bindings_that_cannot_be() -> None:
    async with api() as call:
        await call.made(PODS, pod("gated", schedulingGates=[{"name": "wait"}]))
        await call.made(PODS, pod("ending", metadata={"finalizers": ["x/y"]}))
        await call.delete(f"{PODS}/ending")

        assert (await call.post(f"{PODS}/gated/binding", binding("gated", "n"))).status == 409
        assert "is being deleted" in (await call.post(f"{PODS}/ending/binding", binding("ending", "n"))).message
        assert (await call.post(f"{PODS}/none/binding", binding("none", "n"))).status == 404
        assert (await call.post(f"{PODS}/gated/binding", binding("gated", ""))).status == 422
        assert (await call.post("/api/v1/namespaces/default/bindings", binding("none", "n"))).status == 404


async def ready_pod(call: Api, name: str) -> None:
    await call.made(PODS, pod(name, labels={"app": "x"}, nodeName="n1"))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await call.patch(f"{PODS}/{name}/status", {"status": status})


async def evict(call: Api, name: str) -> Any:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return await call.post(f"{PODS}/{name}/eviction", eviction)


@pytest.mark.parametrize("budget", [{"minAvailable": 1}, {"maxUnavailable": 1}, {"minAvailable": "50%"}])
async def test_evictions_respect_disruption_budgets(budget: dict[str, Any]) -> None:
    async with api() as call:
        selector = {"matchLabels": {"app": "x"}}
        await call.made(BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": selector, **budget}})
        for name in ("a", "b"):
            await ready_pod(call, name)

        assert (await evict(call, "a")).status == 201
        refused = await evict(call, "b")

        assert (refused.status, refused.headers["retry-after"]) == (429, "10")
        assert refused.message == "Cannot evict pod as it would violate the pod's disruption budget."
        assert (await call.get(f"{PODS}/a"))["metadata.deletionTimestamp"] is not None


async def test_scale_is_one_kind_for_all_workloads() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    async with api() as call:
        await call.made(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
        scale = await call.get(f"{DEPLOYMENTS}/d/scale")
        patched = await call.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 5}})
        put = await call.put(f"{DEPLOYMENTS}/d/scale", patched.json | {"spec": {"replicas": 0}})

        assert (scale["kind"], scale["spec.replicas"], scale["status.selector"]) == ("Scale", 2, "a=b")
        assert (patched["spec.replicas"], put["spec.replicas"]) == (5, 0)
        assert (await call.get(f"{DEPLOYMENTS}/d"))["spec.replicas"] == 0
        assert (await call.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": -1}})).status == 422
        assert (await call.put(f"{DEPLOYMENTS}/d/scale", scale.json)).status == 409


async def test_logs_need_a_container_and_a_node_that_serves_them() -> None:
    async with api() as call:
        await call.made(PODS, pod("waiting"))
        await call.made(PODS, pod("placed", nodeName="n1"))
        two = pod("two", nodeName="n1")
        two["spec"]["containers"].append({"name": "side", "image": "x"})
        await call.made(PODS, two)

        assert (await call.get(f"{PODS}/waiting/log")).status == 204
        assert 'node "n1" of pod "placed" is gone' in (await call.get(f"{PODS}/placed/log")).message
        choose = await call.get(f"{PODS}/two/log")
        assert (choose.status, "choose one of: [main side]" in choose.message) == (400, True)
        assert (await call.get(f"{PODS}/two/log", container="none")).status == 400
        await call.made("/api/v1/nodes", {"metadata": {"name": "n1"}})
        assert (await call.get(f"{PODS}/placed/log")).status == 501


async def test_tokens_speak_for_their_account_while_it_exists() -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    async with api() as call:
        await call.made(accounts, {"metadata": {"name": "robot"}})
        answer = await call.post(f"{accounts}/robot/token", {"spec": {}})
        bearer = {"authorization": f"Bearer {answer['status.token']}"}
        outside = Api(call.server, peer=call.peer.__class__())
        review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

        me = await outside.post(review, {}, headers=bearer)
        assert me["status.userInfo"]["username"] == "system:serviceaccount:default:robot"
        assert (await outside.get(CONFIGMAPS, headers=bearer)).status == 403
        assert (await call.post(f"{accounts}/robot/token", {"spec": {"expirationSeconds": 10}})).status == 422
        await call.delete(f"{accounts}/robot")
        assert (await outside.post(review, {}, headers=bearer)).status == 401
