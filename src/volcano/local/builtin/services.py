"""The controller of services with selectors: their Endpoints and EndpointSlices follow the pods that they select.

Neighbours: `endpoints` decides. Pods are watched once the first service selects some.
"""

from __future__ import annotations

import asyncio

from volcano.api.meta import JsonObject
from volcano.api.resources import ENDPOINT_SLICES, ENDPOINTS, PODS
from volcano.kube.client import Client
from volcano.kube.errors import NotFound
from volcano.kube.informer import Callbacks, Informer
from volcano.local.builtin import endpoints
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.endpoints import Backend
from volcano.local.builtin.world import BY_NAMESPACE, World

BATCH_SECONDS = 0.1
"""Pods come and become ready in bursts: what happens meanwhile is written together."""


class ServiceController(Controller):
    name = "service"

    def __init__(self, client: Client, world: World) -> None:
        super().__init__(client, world)
        self._pods: Informer[Backend] = Informer(
            client, PODS.as_type(Backend), indexers={BY_NAMESPACE: lambda pod: [pod.metadata.namespace]}
        )
        self._wanted = asyncio.Event()

    def connect(self) -> None:
        self.world.services.add_handler(Callbacks(self._seen, lambda _old, new: self._seen(new), self._add))
        self._pods.add_handler(Callbacks(self._pod_seen, self._pod_changed, self._pod_seen))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(super().run())
            await self._wanted.wait()
            tasks.create_task(self._pods.run())

    async def reconcile(self, key: str) -> float | None:
        service = self.world.services.store.get(key)
        if service is None:
            await self._delete(key)
            return None
        if not service["spec"].get("selector") or "deletionTimestamp" in service["metadata"]:
            return None
        await self._pods.synced()
        namespace = service["metadata"]["namespace"]
        pods = [
            pod
            for pod in self._pods.by_index(BY_NAMESPACE, namespace)
            if endpoints.selects(service, pod.metadata.labels)
        ]
        await self.client.apply(ENDPOINTS.untyped, endpoints.endpoints(service, pods))
        made = endpoints.slices(service, pods)
        for part in made:
            await self.client.apply(ENDPOINT_SLICES.untyped, part)
        await self._drop_others(service, {part["metadata"]["name"] for part in made})
        return None

    async def _drop_others(self, service: JsonObject, kept: set[str]) -> None:
        """Slices of a time when there were more pods."""
        name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
        selector = f"{endpoints.SERVICE_NAME}={name},{endpoints.MANAGED_BY}={endpoints.MANAGER}"
        listing = await self.client.list(ENDPOINT_SLICES.untyped, namespace, selector)
        for part in listing.items:
            if part["metadata"]["name"] not in kept:
                await self.client.delete(ENDPOINT_SLICES, part["metadata"]["name"], namespace)

    async def _delete(self, key: str) -> None:
        """Slices go with their owner; Endpoints have none."""
        namespace, _, name = key.partition("/")
        try:
            await self.client.delete(ENDPOINTS, name, namespace)
        except NotFound:
            return

    def _seen(self, service: JsonObject) -> None:
        if service["spec"].get("selector"):
            self._wanted.set()
            self._add(service)

    def _pod_changed(self, old: Backend, new: Backend) -> None:
        if old.metadata.labels != new.metadata.labels:
            self._pod_seen(old)
        if (old.spec, old.status, old.metadata.labels, old.metadata.deletion_timestamp) != (
            *(new.spec, new.status, new.metadata.labels, new.metadata.deletion_timestamp),
        ):
            self._pod_seen(new)

    def _pod_seen(self, pod: Backend) -> None:
        for service in self.world.services.by_index(BY_NAMESPACE, pod.metadata.namespace):
            if endpoints.selects(service, pod.metadata.labels):
                key = f"{pod.metadata.namespace}/{service['metadata']['name']}"
                self.queue.add_after(key, BATCH_SECONDS)
