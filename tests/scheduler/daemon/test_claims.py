"""What is written with a binding: allocations of resource claims, and the cards that a pod has got."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.scheduler.daemon.bench import Bench, bench
from tests.waiting import until
from volcano.api import keys
from volcano.api.core import ResourceClaim
from volcano.api.core.dra import ClaimAllocation
from volcano.api.meta import ObjectMeta, OwnerReference
from volcano.api.resources import DEVICE_CLASSES, NODES, PODGROUPS, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from volcano.kube.errors import Conflict
from volcano.scheduler.daemon.claims import settle
from volcano.scheduler.framework.decisions import DeviceAllocation, NodeLock, OwnClaim
from volcano.testing.builders import gang, pod

GPU_CONF = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: deviceshare, arguments: {deviceshare.GPUSharingEnable: true}}]
"""
SLICE: dict[str, Any] = {
    "metadata": {"name": "n0-gpus"},
    "spec": {
        "driver": "gpu.example.com",
        "pool": {"name": "n0", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "n0",
        "devices": [{"name": "gpu0"}],
    },
}
CLAIM: dict[str, Any] = {
    "metadata": {"name": "one-gpu", "namespace": "default"},
    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 1}}]}},
}


async def claim_of(b: Bench) -> ResourceClaim:
    return await b.client.get(RESOURCE_CLAIMS, "one-gpu", "default")


def test_a_claim_is_allocated_and_reserved_before_its_pod_is_bound() -> None:
    async def scenario() -> None:
        async with bench() as b:
            await b.client.create(DEVICE_CLASSES.untyped, {"metadata": {"name": "gpu"}, "spec": {}})
            await b.client.create(RESOURCE_SLICES.untyped, SLICE)
            await b.client.create(RESOURCE_CLAIMS.untyped, CLAIM)
            job = gang("train", pods=1, cpu=1)
            created: dict[str, Any] = {
                "metadata": {
                    "name": "train-0",
                    "namespace": "default",
                    "annotations": {keys.GROUP_NAME: job.pod_group.metadata.name},
                },
                "spec": {
                    "schedulerName": "volcano",
                    "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}],
                    "resourceClaims": [{"name": "gpu", "resourceClaimName": "one-gpu"}],
                },
            }
            await b.client.create(PODGROUPS, job.pod_group)
            await b.client.create(PODS.untyped, created)

            async def bound() -> bool:
                return bool((await b.pod("train-0")).spec.node_name)

            await until(bound)
            claim = await claim_of(b)
            assert claim.status.allocation is not None
            assert [result.device for result in claim.status.allocation.devices.results] == ["gpu0"]
            assert [consumer.name for consumer in claim.status.reserved_for] == ["train-0"]
            assert "resource.kubernetes.io/delete-protection" in claim.metadata.finalizers

    asyncio.run(scenario())


def test_a_claim_that_has_lost_its_allocation_is_a_conflict() -> None:
    async def scenario() -> None:
        async with bench() as b:
            await b.client.create(RESOURCE_CLAIMS.untyped, CLAIM)
            decided = DeviceAllocation("default/one-gpu", "", None, "p", "uid")
            with pytest.raises(Conflict, match="lost its allocation"):
                await settle(b.client, [decided], 1.0)

    asyncio.run(scenario())


def test_a_claim_for_extended_resources_is_made_with_the_binding() -> None:
    async def scenario() -> None:
        async with bench() as b:
            named = {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}}
            await b.client.create(DEVICE_CLASSES.untyped, named)
            await b.client.create(RESOURCE_SLICES.untyped, SLICE)
            member = pod("train-0", group="train", cpu=1)
            resources = member.spec.containers[0].resources
            resources.limits["example.com/gpu"] = resources.requests["example.com/gpu"] = 1
            await b.submit(gang("train", pods=[member]))

            async def bound() -> bool:
                return bool((await b.pod("train-0")).spec.node_name)

            await until(bound)
            (claim,) = (await b.client.list(RESOURCE_CLAIMS)).items
            assert claim.status.allocation is not None
            assert [result.device for result in claim.status.allocation.devices.results] == ["gpu0"]
            told = await b.client.get(PODS.untyped, "train-0", "default")
            status = told["status"]["extendedResourceClaimStatus"]
            assert status["resourceClaimName"] == claim.metadata.name
            assert [mapping["resourceName"] for mapping in status["requestMappings"]] == ["example.com/gpu"]

            kept = ObjectMeta(
                name=claim.metadata.name, namespace="default", owner_references=claim.metadata.owner_references
            )
            own = OwnClaim(ResourceClaim(metadata=kept, spec=claim.spec), ())
            (consumer,) = claim.status.reserved_for
            again = DeviceAllocation(
                claim.metadata.key, claim.metadata.uid, claim.status.allocation, "train-0", consumer.uid, own
            )
            await settle(b.client, [again], 1.0)  # what an attempt before left is written anew
            assert (await b.client.get(RESOURCE_CLAIMS, claim.metadata.name, "default")).status.allocation is not None
            kept.owner_references = [OwnerReference(api_version="v1", kind="Pod", name="train-0", uid="another")]
            with pytest.raises(Conflict, match="is not for pod"):
                await settle(b.client, [again], 1.0)

    asyncio.run(scenario())


@pytest.mark.parametrize("condition", ["Attached", "AttachFailed", ""])
def test_a_binding_waits_until_devices_are_ready(condition: str) -> None:
    """Where they cannot be made ready, or are not in time, the claim is free again."""
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "n0", "device": "gpu0"}
    conditions = {"bindingConditions": ["Attached"], "bindingFailureConditions": ["AttachFailed"]}
    allocation = msgspec.convert({"devices": {"results": [{**result, **conditions}]}}, ClaimAllocation)

    async def scenario() -> None:
        async with bench() as b:
            await b.client.create(RESOURCE_CLAIMS.untyped, CLAIM)
            decided = DeviceAllocation("default/one-gpu", "", allocation, "p", "uid")
            waiting = asyncio.create_task(settle(b.client, [decided], 60.0 if condition else 1.5))

            async def written() -> bool:
                return (await claim_of(b)).status.allocation is not None

            await until(written)
            assert (await claim_of(b)).status.allocation.allocation_timestamp  # type: ignore[union-attr]
            if condition:
                assert not waiting.done()
                told: dict[str, Any] = {k: v for k, v in result.items() if k != "request"}
                told["conditions"] = [{"type": condition, "status": "True", "reason": "x", "message": "x"}]
                patch = {"status": {"devices": [told]}}
                await b.client.patch(RESOURCE_CLAIMS, "one-gpu", patch, "default", subresource="status")
            if condition == "Attached":
                await waiting
                assert (await claim_of(b)).status.allocation is not None
                return
            with pytest.raises(TimeoutError, match="made ready"):
                await waiting
            status = (await claim_of(b)).status
            assert (status.allocation, status.reserved_for, status.devices) == (None, [], [])

    asyncio.run(scenario())


def test_a_pod_learns_its_card_with_its_binding(tmp_path: Path) -> None:
    conf = tmp_path / "scheduler.conf"
    conf.write_text(GPU_CONF)

    async def scenario() -> None:
        async with bench(scheduler_conf=str(conf)) as b:
            found = await b.client.get(NODES, "n0")
            for amounts in (found.status.capacity, found.status.allocatable):
                amounts.update({keys.GPU_MEMORY: 1000, keys.GPU_NUMBER: 1})
            await b.client.update(NODES, found, subresource="status")
            member = pod("train-0", group="train", cpu=1)
            resources = member.spec.containers[0].resources
            resources.limits[keys.GPU_MEMORY] = resources.requests[keys.GPU_MEMORY] = 600
            await b.submit(gang("train", pods=[member]))

            async def bound() -> bool:
                return bool((await b.pod("train-0")).spec.node_name)

            await until(bound)
            assert (await b.pod("train-0")).metadata.annotations[keys.GPU_INDEX] == "0"
            assert "configmaps/kube-system/volcano-vgpu-device-config" in b.scheduler.feed.informers

    asyncio.run(scenario())


def test_a_node_is_locked_for_one_pod_at_a_time() -> None:
    async def scenario() -> None:
        async with bench() as b:
            lock = NodeLock("n0", "hamivgpu")
            await settle(b.client, [lock], 1.0)
            with pytest.raises(Conflict, match="node n0 is locked by hamivgpu since"):
                await settle(b.client, [lock], 1.0)

            for left in ("2001-01-01T00:00:00Z", None):  # forgotten, given back
                await b.client.patch(NODES, "n0", {"metadata": {"annotations": {"hamivgpu": left}}})
                await settle(b.client, [lock], 1.0)

            await b.client.patch(NODES, "n0", {"metadata": {"annotations": {"hamivgpu": "now"}}})
            with pytest.raises(Conflict, match="no time"):
                await settle(b.client, [lock], 1.0)

    asyncio.run(scenario())
