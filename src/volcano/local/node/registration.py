"""Makes a node known to the API server and keeps it Ready: the Node object, its status, its lease.

Neighbours: `main` starts it beside `agent`; `builtin.nodes` marks nodes whose lease is stale.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.api.resources import LEASES, NODES
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists, ApiError, NotFound
from volcano.local.times import timestamp

log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
HEARTBEAT_SECONDS = 10.0
REPORT_SECONDS = 300.0
DECLARED_FEATURES = ("ExtendWebSocketsToKubelet",)
"""API servers pass exec on as the WebSocket it came as: `endpoint` speaks no SPDY."""
_RETRY_SECONDS = 1.0
_PRESSURES = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}


@dataclass(frozen=True)
class NodeDescription:
    """Everything the Node object says about a node."""

    name: str
    capacity: Mapping[str, str]
    address: str = "127.0.0.1"
    port: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()
    info: JsonObject = field(default_factory=dict)
    ready_message: str = "kubelet is posting ready status"


def node_object(node: NodeDescription, now: float) -> JsonObject:
    """The Node to create."""
    labels = {keys.HOSTNAME: node.name, keys.OS: "linux", **node.labels}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": labels, "annotations": dict(node.annotations)},
        "spec": {"taints": [dict(taint) for taint in node.taints]} if node.taints else {},
        "status": node_status(node, None, now),
    }


def node_status(node: NodeDescription, stored: JsonObject | None, now: float) -> JsonObject:
    """The node's status; conditions keep the time of their last transition."""
    known = {c["type"]: c for c in ((stored or {}).get("status") or {}).get("conditions") or []}
    wanted = {kind: ("False", *texts) for kind, texts in _PRESSURES.items()}
    wanted["Ready"] = ("True", "KubeletReady", node.ready_message)
    status: JsonObject = {
        "capacity": dict(node.capacity),
        "allocatable": dict(node.capacity),
        "conditions": [_condition(kind, *texts, known.get(kind), now) for kind, texts in wanted.items()],
        "addresses": [
            {"type": "InternalIP", "address": node.address},
            {"type": "Hostname", "address": node.name},
        ],
        "nodeInfo": node.info,
    }
    if node.port:
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": node.port}}
        status["declaredFeatures"] = list(DECLARED_FEATURES)
    return status


def _condition(kind: str, truth: str, reason: str, message: str, known: JsonObject | None, now: float) -> JsonObject:
    same = known is not None and known.get("status") == truth
    return {
        "type": kind,
        "status": truth,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": timestamp(now),
        "lastTransitionTime": known["lastTransitionTime"] if same and known else timestamp(now),
    }


async def register(client: Client, node: NodeDescription) -> None:
    """Create the Node, or bring an existing one up to date, and report it Ready."""
    try:
        stored = await client.create(NODES.untyped, node_object(node, time.time()))
        if (stored.get("status") or {}).get("conditions"):
            return  # Kubernetes keeps the status a node is created with
    except AlreadyExists:
        stored = await client.get(NODES.untyped, node.name)
        labels = {keys.HOSTNAME: node.name, keys.OS: "linux", **node.labels}
        body = {"metadata": {"labels": labels, "annotations": dict(node.annotations)}}
        if any((stored["metadata"].get("labels") or {}).get(key) != value for key, value in labels.items()):
            stored = await client.patch(NODES.untyped, node.name, body)
    body = {"status": node_status(node, stored, time.time())}
    await client.patch(NODES.untyped, node.name, body, subresource="status")


async def renew_lease(client: Client, name: str, seconds: int) -> None:
    """Say that the node lives, for `seconds` from now."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": name, "leaseDurationSeconds": seconds, "renewTime": now}
    try:
        await client.patch(LEASES.untyped, name, {"spec": spec}, LEASE_NAMESPACE)
    except NotFound:
        metadata = {"name": name, "namespace": LEASE_NAMESPACE}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        await client.create(LEASES.untyped, lease)


async def keep_registered(client: Client, node: NodeDescription, registered: asyncio.Event) -> None:
    """Register, then send heartbeats until cancelled; an API server that is away is waited for."""
    reported_at: float | None = None
    while True:
        try:
            overdue = reported_at is None or time.monotonic() - reported_at >= REPORT_SECONDS
            if overdue or not await _is_known_ready(client, node.name):
                await register(client, node)
                reported_at = time.monotonic()
            await renew_lease(client, node.name, LEASE_SECONDS)
            registered.set()
            await asyncio.sleep(HEARTBEAT_SECONDS * random.uniform(0.9, 1.1))
        except (ApiError, OSError, TimeoutError) as error:
            log.warning("node %s: heartbeat failed: %s", node.name, error)
            await asyncio.sleep(_RETRY_SECONDS)


async def _is_known_ready(client: Client, name: str) -> bool:
    """Whether the Node still exists and says Ready: it may have been deleted, or declared silent after an outage."""
    try:
        node = await client.get(NODES.untyped, name)
    except NotFound:
        return False
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
