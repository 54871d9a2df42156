"""Where services lead: what is decided from pods, and Endpoints that follow them on an API server."""

from __future__ import annotations

from typing import Any

from tests.local.builtin.test_controllers import DEPLOYMENTS, World, in_world, web
from tests.waiting import until
from volcano.api.meta import JsonObject
from volcano.api.resources import ENDPOINT_SLICES, ENDPOINTS, PODS, SERVICES
from volcano.local.builtin import endpoints
from volcano.local.builtin.endpoints import (
    Backend,
    BackendMeta,
    BackendSpec,
    BackendStatus,
    ContainerView,
    PortView,
)
from volcano.local.builtin.views import ConditionView


def service(*ports: JsonObject, **spec: Any) -> JsonObject:
    meta = {"name": "web", "namespace": "n", "uid": "s", "labels": {"team": "ml"}}
    return {"metadata": meta, "spec": {"selector": {"app": "web"}, "ports": list(ports) or [{"port": 80}], **spec}}


def pod(
    name: str, *, ready: bool = True, going: bool = False, ip: str = "", phase: str = "Running", port: int = 0
) -> Backend:
    conditions = [ConditionView(type="Ready", status="True" if ready else "False")]
    containers = [ContainerView(ports=[PortView(name="http", container_port=port)] if port else [])]
    stamp = "2026-01-01T00:00:00Z" if going else None
    return Backend(
        metadata=BackendMeta(name=name, namespace="n", uid=name, labels={"app": "web"}, deletion_timestamp=stamp),
        spec=BackendSpec(node_name="node", hostname=name, subdomain="web", containers=containers),
        status=BackendStatus(phase=phase, pod_ip=ip or f"127.0.0.{len(name)}", conditions=conditions),
    )


def addresses(document: JsonObject) -> list[tuple[list[str], list[str], list[int]]]:
    """Of each subset: who is ready, who is not, on which ports."""
    return [
        (
            [item["targetRef"]["name"] for item in subset.get("addresses") or ()],
            [item["targetRef"]["name"] for item in subset.get("notReadyAddresses") or ()],
            [item["port"] for item in subset.get("ports") or ()],
        )
        for subset in document.get("subsets") or ()
    ]


def test_ready_pods_are_addresses_and_others_are_kept_apart() -> None:
    pods = [pod("b"), pod("a"), pod("slow", ready=False), pod("over", phase="Succeeded"), pod("going", going=True)]
    found = endpoints.endpoints(service(), pods)

    assert addresses(found) == [(["a", "b"], ["slow"], [80])]
    assert found["subsets"][0]["addresses"][0] == {
        "ip": "127.0.0.1",
        "nodeName": "node",
        "hostname": "a",
        "targetRef": {"kind": "Pod", "namespace": "n", "name": "a", "uid": "a"},
    }


def test_a_service_may_lead_to_pods_that_are_not_ready() -> None:
    found = endpoints.endpoints(service(publishNotReadyAddresses=True), [pod("slow", ready=False)])

    assert addresses(found) == [(["slow"], [], [80])]


def test_named_ports_are_what_each_pod_says() -> None:
    named = service({"name": "web", "port": 80, "targetPort": "http"})
    pods = [pod("a", port=8080), pod("b", port=9090), pod("c", port=8080)]

    assert addresses(endpoints.endpoints(named, pods)) == [(["a", "c"], [], [8080]), (["b"], [], [9090])]
    assert [part["ports"][0]["port"] for part in endpoints.slices(named, pods)] == [8080, 9090]


def test_slices_say_who_is_going_and_hold_a_hundred_each() -> None:
    many = [pod(f"p{number:03}") for number in range(150)]
    parts = endpoints.slices(service(clusterIP="None"), [*many, pod("z", going=True)])

    assert [len(part["endpoints"]) for part in parts] == [100, 51]
    assert parts[1]["endpoints"][-1]["conditions"] == {"ready": False, "serving": True, "terminating": True}
    assert parts[0]["metadata"]["labels"] == {
        "team": "ml",
        "service.kubernetes.io/headless": "",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    assert parts[0]["metadata"]["ownerReferences"][0]["kind"] == "Service"


def test_without_pods_there_is_an_empty_slice_and_no_subset() -> None:
    assert "subsets" not in endpoints.endpoints(service(), [])
    assert [part["endpoints"] for part in endpoints.slices(service(), [])] == [[]]


def test_endpoints_follow_the_pods_of_a_service() -> None:
    async def story(place: World) -> None:
        async def ready() -> int:
            if "web" not in await place.names(ENDPOINTS):
                return -1
            found = await place.client.get(ENDPOINTS.untyped, "web", "default")
            return sum(len(subset.get("addresses") or ()) for subset in found.get("subsets") or ())

        async def in_slices() -> int:
            parts = await place.client.list(ENDPOINT_SLICES.untyped, "default")
            return sum(len(part.get("endpoints") or ()) for part in parts.items)

        async def pods() -> int:
            return len(await place.names(PODS))

        await place.create(SERVICES, "web", {"selector": {"app": "web"}, "ports": [{"port": 80}]})
        await until(lambda: is_count(ready, 0))
        await place.create(DEPLOYMENTS, "web", web(3))
        await until(lambda: is_count(ready, 3))
        await until(lambda: is_count(in_slices, 3))
        await place.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 1}}, "default")
        await until(lambda: is_count(ready, 1))
        await until(lambda: is_count(pods, 1))
        [one] = await place.names(PODS)
        await place.client.patch(PODS, one, {"metadata": {"labels": {"app": "other"}}}, "default")
        await until(lambda: is_led_elsewhere(place, one))
        await place.client.delete(SERVICES, "web", "default")
        await until(lambda: is_count(ready, -1))
        await until(lambda: is_count(in_slices, 0))

    in_world(story)


async def is_led_elsewhere(place: World, pod: str) -> bool:
    """The service leads to one pod, and to another than this."""
    found = await place.client.get(ENDPOINTS.untyped, "web", "default")
    [subset] = found.get("subsets") or [{}]
    return [each["targetRef"]["name"] != pod for each in subset.get("addresses") or ()] == [True]


async def is_count(count: Any, expected: int) -> bool:
    return bool(await count() == expected)
