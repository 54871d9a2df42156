"""The node lifecycle controller: marks silent nodes, and lets pods of deleted nodes go.

Neighbours: `nodehealth` decides. Silence is measured by this process's own clock, so a suspended laptop is no alarm.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from volcano.api.meta import JsonObject
from volcano.api.resources import LEASES, NODES, PODS
from volcano.kube.client import Client
from volcano.kube.errors import ApiError, NotFound
from volcano.kube.informer import Callbacks, Informer
from volcano.local.builtin import nodehealth
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.views import PodView
from volcano.local.builtin.world import BY_NODE, World
from volcano.local.node.registration import LEASE_NAMESPACE
from volcano.local.times import timestamp

_LOOK_SECONDS = 5.0
_STRIKES = 3
_ORPHAN_SECONDS = 20.0


@dataclass
class _Pulse:
    """A node's lease as last seen here."""

    version: str
    seconds: int | None
    heard_at: float
    strikes: int = 0


class NodeController(Controller):
    """Keys are node names."""

    name = "node-lifecycle"

    def __init__(self, client: Client, world: World) -> None:
        super().__init__(client, world)
        self._pulses: dict[str, _Pulse] = {}
        self._missing_since: dict[str, float] = {}
        self.leases: Informer[JsonObject] = Informer(
            client,
            LEASES.untyped,
            namespace=LEASE_NAMESPACE,
            handler=Callbacks(self._beat, lambda _old, new: self._beat(new)),
        )

    def connect(self) -> None:
        self.world.nodes.add_handler(
            Callbacks(self._node_seen, lambda _old, new: self._node_seen(new), self._node_gone)
        )
        self.world.pods.add_handler(Callbacks(self._pod_seen, lambda _old, new: self._pod_seen(new)))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.leases.run())
            tasks.create_task(super().run())
            while True:
                await asyncio.sleep(_LOOK_SECONDS)
                for name in list(self.world.nodes.store):
                    await self._look(name)

    def _beat(self, lease: JsonObject) -> None:
        name, spec = lease["metadata"]["name"], lease.get("spec") or {}
        self._pulses[name] = _Pulse(
            lease["metadata"]["resourceVersion"], spec.get("leaseDurationSeconds"), time.monotonic()
        )

    def _node_seen(self, node: JsonObject) -> None:
        name = node["metadata"]["name"]
        self._missing_since.pop(name, None)
        self._pulses.setdefault(name, _Pulse("", None, time.monotonic()))
        self.queue.add(name)

    def _node_gone(self, node: JsonObject) -> None:
        name = node["metadata"]["name"]
        self._pulses.pop(name, None)
        self.queue.add(name)

    def _pod_seen(self, pod: PodView) -> None:
        if pod.spec.node_name and pod.spec.node_name not in self.world.nodes.store:
            self.queue.add(pod.spec.node_name)

    async def _look(self, name: str) -> None:
        """Count a node's silence only while the API server answers: after an outage all need a moment to speak up."""
        pulse = self._pulses.get(name)
        if pulse is None or not nodehealth.is_silent(pulse.seconds, pulse.heard_at, time.monotonic()):
            return
        try:
            version = await self._lease_version(name)
        except (ApiError, OSError, TimeoutError):
            pulse.strikes = 0
            return
        pulse.strikes = pulse.strikes + 1 if version == pulse.version else 0
        if self._is_silent(name):
            self.queue.add(name)

    async def _lease_version(self, name: str) -> str:
        try:
            lease = await self.client.get(LEASES.untyped, name, LEASE_NAMESPACE)
        except NotFound:
            return ""
        return str(lease["metadata"]["resourceVersion"])

    def _is_silent(self, name: str) -> bool:
        pulse = self._pulses.get(name)
        return pulse is not None and pulse.strikes >= _STRIKES

    async def reconcile(self, key: str) -> float | None:
        node = self.world.nodes.store.get(key)
        if node is None:
            return await self._release_pods(key)
        now = timestamp(time.time())
        try:
            if self._is_silent(key):
                conditions = nodehealth.unknown_conditions(node, now)
                if conditions != (node.get("status") or {}).get("conditions"):
                    body = {"status": {"conditions": conditions}}
                    await self.client.patch(NODES.untyped, key, body, subresource="status")
                    return None  # the change comes back by the watch, and then the taints follow
            taints = nodehealth.wanted_taints(node, now)
            if taints != ((node.get("spec") or {}).get("taints") or []):
                version = node["metadata"]["resourceVersion"]
                change: JsonObject = {"metadata": {"resourceVersion": version}, "spec": {"taints": taints or None}}
                await self.client.patch(NODES.untyped, key, change)
        except NotFound:
            return None
        return None

    async def _release_pods(self, name: str) -> float | None:
        """Pods bound to a node that does not exist: nobody else can end them."""
        pods = self.world.pods.by_index(BY_NODE, name)
        if not name or not pods:
            self._missing_since.pop(name, None)
            return None
        wait = self._missing_since.setdefault(name, time.monotonic()) + _ORPHAN_SECONDS - time.monotonic()
        if wait > 0:
            return wait
        for pod in pods:
            await self._release(pod)
        return None

    async def _release(self, pod: PodView) -> None:
        metadata = pod.metadata
        try:
            if not pod.is_finished:
                status = {"phase": "Failed", "reason": "NodeLost", "message": f"node {pod.spec.node_name} was deleted"}
                body = {"metadata": {"uid": metadata.uid}, "status": status}
                await self.client.patch(PODS.untyped, metadata.name, body, metadata.namespace, subresource="status")
            await self.client.delete(PODS, metadata.name, metadata.namespace, grace_seconds=0, uid=metadata.uid)
        except NotFound:
            return
