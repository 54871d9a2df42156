"""Claims that are settled together with a pod: volumes get their node and are waited for, devices are written down.

The engine decided (plugins/kubernetes), Kubernetes' volume controller or a provisioner does the binding of volumes.
"""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from volcano.api import keys
from volcano.api.core import ResourceClaim
from volcano.api.core.dra import ClaimConsumer
from volcano.api.meta import JsonObject
from volcano.api.resources import NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, RESOURCE_CLAIMS
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists, Conflict, NotFound
from volcano.scheduler.framework.decisions import ClaimBinding, DeviceAllocation, NodeLock, OwnClaim, Settlement
from volcano.scheduler.plugins.kubernetes.claims.pods import has_failed, is_lost, is_ready
from volcano.scheduler.plugins.kubernetes.volumes.claims import is_bound

DEVICE_FINALIZER: Final = "resource.kubernetes.io/delete-protection"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
LOCK_LIFETIME: Final = datetime.timedelta(minutes=5)
FIRST_LOOK_SECONDS: Final = 0.05
LONGEST_PAUSE_SECONDS: Final = 2.0


async def settle(client: Client, claims: Sequence[Settlement], timeout_seconds: float) -> None:
    """Raises TimeoutError when the claims are not bound in time, and whatever the API server refuses."""
    bindings = [claim for claim in claims if isinstance(claim, ClaimBinding)]
    for binding in bindings:
        await _announce(client, binding)
    allocated = [(claim, await _allocate(client, claim)) for claim in claims if isinstance(claim, DeviceAllocation)]
    deadline = time.monotonic() + timeout_seconds
    for binding in bindings:
        await _bound(client, binding, deadline)
    for decided, written in allocated:
        await _prepared(client, decided, written, deadline)
    for claim in claims:
        if isinstance(claim, NodeLock):  # last: nobody takes it back
            await _lock(client, claim)


async def _announce(client: Client, binding: ClaimBinding) -> None:
    namespace, _, name = binding.claim.partition("/")
    claim = await client.get(PERSISTENT_VOLUME_CLAIMS, name, namespace)
    if is_bound(claim):
        return
    if not binding.volume:
        patch = {"metadata": {"annotations": {keys.SELECTED_NODE: binding.node}}}
        await client.patch(PERSISTENT_VOLUME_CLAIMS, name, patch, namespace)
        return
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": namespace,
        "name": name,
        "uid": claim.metadata.uid,
    }
    owned = {"metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}}, "spec": {"claimRef": reference}}
    await client.patch(PERSISTENT_VOLUMES, binding.volume, owned)


async def _allocate(client: Client, decided: DeviceAllocation) -> ResourceClaim:
    """Write the allocation, unless there is one, and that the pod uses it. Somebody else's change is a conflict."""
    namespace, _, name = decided.claim.partition("/")
    claim = await _made(client, decided.made) if decided.made else await client.get(RESOURCE_CLAIMS, name, namespace)
    if decided.claim_uid and claim.metadata.uid != decided.claim_uid:
        raise NotFound(f"claim {decided.claim} was replaced by another one of its name")
    status: JsonObject = {}
    if claim.status.allocation is not None and decided.allocation is not None and (decided.made or is_lost(claim)):
        claim = await _give_back(client, claim, decided.pod_uid)  # it cannot be replaced where it stands
    if claim.status.allocation is None:
        if decided.allocation is None:
            raise Conflict(f"claim {decided.claim} has lost its allocation")
        if DEVICE_FINALIZER not in claim.metadata.finalizers:
            kept = {
                "finalizers": [*claim.metadata.finalizers, DEVICE_FINALIZER],
                "resourceVersion": claim.metadata.resource_version,
            }
            claim = await client.patch(RESOURCE_CLAIMS, name, {"metadata": kept}, namespace)
        status["allocation"] = {**msgspec.to_builtins(decided.allocation), **_stamp(decided)}
    consumers = [consumer for consumer in claim.status.reserved_for if consumer.uid != decided.pod_uid]
    me = ClaimConsumer(resource="pods", name=decided.pod_name, uid=decided.pod_uid)
    status["reservedFor"] = msgspec.to_builtins([*consumers, me])
    patch = {"metadata": {"resourceVersion": claim.metadata.resource_version}, "status": status}
    claim = await client.patch(RESOURCE_CLAIMS, name, patch, namespace, subresource="status")
    if decided.made:
        told = {"resourceClaimName": name, "requestMappings": list(decided.made.mappings)}
        about = {"metadata": {"uid": decided.pod_uid}, "status": {"extendedResourceClaimStatus": told}}
        await client.patch(PODS, decided.pod_name, about, namespace, subresource="status")
    return claim


async def _made(client: Client, own: OwnClaim) -> ResourceClaim:
    """A claim for this very pod; there may be one from an attempt before."""
    meta = own.claim.metadata
    try:
        return await client.create(RESOURCE_CLAIMS, own.claim)
    except AlreadyExists:
        found = await client.get(RESOURCE_CLAIMS, meta.name, meta.namespace)
    if {owner.uid for owner in found.metadata.owner_references} != {owner.uid for owner in meta.owner_references}:
        raise Conflict(f"claim {meta.key} is not for pod {meta.owner_references[0].name}: delete it")
    return found


def _stamp(decided: DeviceAllocation) -> JsonObject:
    """When the waiting for the devices' conditions began, if they have any."""
    allocation = decided.allocation
    if allocation is None or not any(result.binding_conditions for result in allocation.devices.results):
        return {}
    return {"allocationTimestamp": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}


async def _prepared(client: Client, decided: DeviceAllocation, claim: ResourceClaim, deadline: float) -> None:
    """Wait until the driver says that the devices can be used. If it says that they cannot, they are given back."""
    pause = FIRST_LOOK_SECONDS
    while has_failed(claim) or not is_ready(claim):
        if has_failed(claim) or time.monotonic() > deadline:
            await _give_back(client, claim, decided.pod_uid)
            verb = "cannot be" if has_failed(claim) else "were not"
            raise TimeoutError(f"devices of claim {decided.claim} {verb} made ready: others are looked for")
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
        claim = await client.get(RESOURCE_CLAIMS, claim.metadata.name, claim.metadata.namespace)


async def _give_back(client: Client, claim: ResourceClaim, pod_uid: str) -> ResourceClaim:
    """This pod does not use the claim, and if nobody else does, its devices are free again."""
    others = [consumer for consumer in claim.status.reserved_for if consumer.uid != pod_uid]
    status: JsonObject = {"reservedFor": msgspec.to_builtins(others) or None}
    if not others:
        status |= {"allocation": None, "devices": None}
    patch = {"metadata": {"resourceVersion": claim.metadata.resource_version}, "status": status}
    name, namespace = claim.metadata.name, claim.metadata.namespace
    return await client.patch(RESOURCE_CLAIMS, name, patch, namespace, subresource="status")


async def _lock(client: Client, lock: NodeLock) -> None:
    """Taken here, given back by the node's device plugin; one that is too old has been forgotten."""
    node = await client.get(NODES, lock.node)
    taken = node.metadata.annotations.get(lock.annotation, "")
    now = datetime.datetime.now(datetime.UTC)
    if taken and now - _instant(taken, lock) < LOCK_LIFETIME:
        raise Conflict(f"node {lock.node} is locked by {lock.annotation} since {taken}")
    meta = {
        "resourceVersion": node.metadata.resource_version,
        "annotations": {lock.annotation: now.strftime("%Y-%m-%dT%H:%M:%SZ")},
    }
    await client.patch(NODES, lock.node, {"metadata": meta})


def _instant(text: str, lock: NodeLock) -> datetime.datetime:
    try:
        found = datetime.datetime.fromisoformat(text)
        return found if found.tzinfo is not None else found.replace(tzinfo=datetime.UTC)
    except ValueError as problem:
        raise Conflict(f"node {lock.node}: annotation {lock.annotation} is {text!r}, which is no time") from problem


async def _bound(client: Client, binding: ClaimBinding, deadline: float) -> None:
    namespace, _, name = binding.claim.partition("/")
    pause = FIRST_LOOK_SECONDS
    while not is_bound(await client.get(PERSISTENT_VOLUME_CLAIMS, name, namespace)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"claim {binding.claim} was not bound to {binding.volume or 'a new volume'} in time")
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
