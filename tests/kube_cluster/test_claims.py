"""Devices for claims, beside Kubernetes' own scheduler: the same claims on like nodes are allocated alike."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.kube_cluster import bare, control_plane
from tests.waiting import until
from volcano.api.meta import JsonObject
from volcano.api.resources import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NAMESPACES,
    NODES,
    PODGROUPS,
    PODS,
    QUEUES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from volcano.scheduler.daemon.flags import Flags
from volcano.scheduler.daemon.server import Scheduler

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kube_cluster.control_plane import Address
    from volcano.kube.client import Client

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("claims")]

TAINT_RULES = "--feature-gates=DRADeviceTaintRules=true"
OPTIONS = ("--disable-admission-plugins=ServiceAccount", TAINT_RULES, "--runtime-config=resource.k8s.io/v1beta2=true")
CONF = "actions: allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}]\n"


@dataclass(frozen=True)
class Side:
    """One of the two schedulers, with a namespace, a node and a driver of its own."""

    name: str
    scheduler: str

    @property
    def driver(self) -> str:
        return f"{self.name}.example.com"

    def plain(self, value: Any) -> Any:
        """Without what is different on purpose."""
        if isinstance(value, dict):
            return {key: self.plain(item) for key, item in value.items() if key != "shareID"}
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        return value.replace(self.driver, "DRIVER").replace(self.name, "SIDE") if isinstance(value, str) else value


OURS, THEIRS = Side("ours", "volcano"), Side("theirs", "default-scheduler")

SHARED = {
    "allowMultipleAllocations": True,
    "capacity": {
        "memory": {
            "value": "40Gi",
            "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "step": "2Gi", "max": "39Gi"}},
        },
        "slots": {"value": "8", "requestPolicy": {"default": "1", "validValues": ["1", "2", "4"]}},
    },
}
FABRIC = {"bindsToNode": True, "bindingConditions": ["Attached"], "bindingFailureConditions": ["AttachFailed"]}
POOLS: dict[str, list[JsonObject]] = {
    "shared": [{"name": "s0", **SHARED}],
    "plain": [{"name": f"d{number}"} for number in range(4)],
    "fabric": [{"name": "f0", **FABRIC}],
    "extended": [{"name": f"e{number}"} for number in range(2)],
    "ruled": [{"name": "r0"}, {"name": "r1"}],
}
MAINTENANCE = {"key": "maintenance", "effect": "NoSchedule"}


def exactly(kind: str, **more: Any) -> JsonObject:
    return {"name": "r", "exactly": {"deviceClassName": kind, **more}}


CLAIMS: dict[str, JsonObject] = {
    "by-default": exactly("shared"),
    "rounded": exactly("shared", capacity={"requests": {"memory": "3500Mi", "slots": "3"}}),
    "several": exactly("plain", count=2),
    "second-best": {
        "name": "r",
        "firstAvailable": [
            {"name": "many", "deviceClassName": "plain", "count": 3},
            {"name": "one", "deviceClassName": "plain", "count": 1},
        ],
    },
    "attached": exactly("fabric"),
    "untainted": exactly("ruled"),
    "tolerating": exactly("ruled", tolerations=[{"operator": "Exists", **MAINTENANCE}]),
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    if why := control_plane.absence():
        pytest.skip(why)
    for server in bare.kube(tmp_path_factory.mktemp("claims"), OPTIONS):
        control_plane.start_scheduler(server.programs, server.address, TAINT_RULES)
        yield server.address


async def prepare(client: Client, side: Side) -> None:
    await client.create(NAMESPACES.untyped, {"metadata": {"name": side.name}})
    offer = {"cpu": "8", "memory": "8Gi", "pods": "20"}
    await client.create(NODES.untyped, {"metadata": {"name": side.name, "labels": {"side": side.name}}})
    ready = [{"type": "Ready", "status": "True", "reason": "x", "message": "x"}]
    status = {"status": {"capacity": offer, "allocatable": offer, "conditions": ready}}
    await client.patch(NODES, side.name, status, subresource="status")
    await client.patch(NODES, side.name, {"spec": {"taints": None}})  # there is nobody who would see that it is ready
    for pool, devices in POOLS.items():
        driver = f"{pool}.{side.driver}"
        place = {"allNodes": True} if pool == "fabric" else {"nodeName": side.name}
        about = {"name": pool, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": driver, "pool": about, "devices": devices, **place}
        await client.create(RESOURCE_SLICES.untyped, {"metadata": {"name": f"{side.name}-{pool}"}, "spec": spec})
        chosen = {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]}
        named = {"extendedResourceName": f"{side.driver}/gpu"} if pool == "extended" else {}
        await client.create(
            DEVICE_CLASSES.untyped, {"metadata": {"name": f"{side.name}-{pool}"}, "spec": {**chosen, **named}}
        )
    first = {"driver": f"ruled.{side.driver}", "device": "r0"}
    rule = {"metadata": {"name": side.name}, "spec": {"deviceSelector": first, "taint": MAINTENANCE}}
    await client.create(DEVICE_TAINT_RULES.untyped, rule)
    group = {"metadata": {"name": "g"}, "spec": {"minMember": 1, "queue": "default"}, "status": {"phase": "Inqueue"}}
    await client.create(PODGROUPS.untyped, group, side.name)


async def submit(client: Client, side: Side, name: str, request: JsonObject | None) -> None:
    """A pod with such a claim, or with one of the extended resource."""
    spec: JsonObject = {
        "schedulerName": side.scheduler,
        "nodeSelector": {"side": side.name},
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}],
    }
    if request is None:
        spec["containers"][0]["resources"] = {"limits": {f"{side.driver}/gpu": "2"}}
    else:
        own = _of_side(request, side)
        claim = {"metadata": {"name": name}, "spec": {"devices": {"requests": [own]}}}
        await client.create(RESOURCE_CLAIMS.untyped, claim, side.name)
        spec["resourceClaims"] = [{"name": "x", "resourceClaimName": name}]
        spec["containers"][0]["resources"]["claims"] = [{"name": "x"}]
    annotations = {"scheduling.k8s.io/group-name": "g"}
    await client.create(PODS.untyped, {"metadata": {"name": name, "annotations": annotations}, "spec": spec}, side.name)


def _of_side(value: Any, side: Side) -> Any:
    if isinstance(value, dict):
        return {
            key: f"{side.name}-{item}" if key == "deviceClassName" else _of_side(item, side)
            for key, item in value.items()
        }
    return [_of_side(item, side) for item in value] if isinstance(value, list) else value


async def bound(client: Client, side: Side, name: str) -> JsonObject:
    async def check() -> JsonObject | None:
        pod = await client.get(PODS.untyped, name, side.name)
        return pod if pod["spec"].get("nodeName") else None

    return await until(check)


async def attach(client: Client, side: Side) -> None:
    """The driver of the fabric makes the device ready, once it is asked for."""

    async def allocated() -> JsonObject | None:
        claim = await client.get(RESOURCE_CLAIMS.untyped, "attached", side.name)
        found: JsonObject | None = (claim.get("status") or {}).get("allocation")
        return found

    allocation = await until(allocated)
    assert allocation["allocationTimestamp"]
    (result,) = allocation["devices"]["results"]
    pod = await client.get(PODS.untyped, "attached", side.name)
    assert not pod["spec"].get("nodeName")
    told = {key: result[key] for key in ("driver", "pool", "device")}
    condition = {"type": "Attached", "status": "True", "reason": "x", "message": "x"}
    told["conditions"] = [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    patch = {"status": {"devices": [told]}}
    await client.patch(RESOURCE_CLAIMS, "attached", patch, side.name, subresource="status")


async def outcome(client: Client, side: Side) -> JsonObject:
    """What each claim has got, and what stands for the extended resource."""
    found: JsonObject = {}
    for name, request in CLAIMS.items():
        await submit(client, side, name, request)
        if name == "attached":
            await attach(client, side)
        await bound(client, side, name)
        claim = await client.get(RESOURCE_CLAIMS.untyped, name, side.name)
        found[name] = claim["status"]["allocation"]
        found[name].pop("allocationTimestamp", None)
        assert [consumer["name"] for consumer in claim["status"]["reservedFor"]] == [name]
    await submit(client, side, "extended", None)
    pod = await bound(client, side, "extended")
    told = pod["status"]["extendedResourceClaimStatus"]
    claim = await client.get(RESOURCE_CLAIMS.untyped, told["resourceClaimName"], side.name)
    assert claim["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    mappings = [{key: m[key] for key in ("containerName", "resourceName")} for m in told["requestMappings"]]
    devices = sorted(result["device"] for result in claim["status"]["allocation"]["devices"]["results"])
    found["extended"] = {"annotations": claim["metadata"]["annotations"], "mappings": mappings, "devices": devices}
    return found


def test_claims_are_allocated_as_kubernetes_does(address: Address, tmp_path: Path) -> None:
    conf = tmp_path / "scheduler.yaml"
    conf.write_text(CONF)

    async def scenario() -> tuple[JsonObject, JsonObject]:
        async with address.connected() as client:
            queue = {"metadata": {"name": "default"}, "spec": {"weight": 1}}
            await client.create(QUEUES.untyped, queue)
            await client.patch(QUEUES, "default", {"status": {"state": "Open"}}, subresource="status")
            for side in (OURS, THEIRS):
                await prepare(client, side)
            stop = asyncio.Event()
            scheduler = Scheduler(client, Flags(leader_elect=False, scheduler_conf=str(conf)), seed=1)
            running = asyncio.create_task(scheduler.run(stop))
            try:
                return await outcome(client, OURS), await outcome(client, THEIRS)
            finally:
                stop.set()
                await running

    ours, theirs = asyncio.run(scenario())

    assert OURS.plain(ours) == THEIRS.plain(theirs)
    devices = [ours[name]["devices"]["results"][0]["device"] for name in ("untainted", "tolerating")]
    assert devices == ["r1", "r0"]
