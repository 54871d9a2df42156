"""The shared informers of these controllers: each collection is watched once, whoever asks for it.

Neighbours: `views` are the types kept; `main` runs `World.run`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import BATCH_JOBS, DAEMON_SETS, DEPLOYMENTS, NODES, REPLICA_SETS, SERVICES, STATEFUL_SETS
from volcano.kube.client import Client
from volcano.kube.informer import Informer
from volcano.local.builtin.views import POD_VIEWS, Head, PodView, controller_of, document_controller_uid

BY_CONTROLLER = "controller"
BY_NODE = "node"
BY_NAMESPACE = "namespace"
ORPHANS = "orphans"
"""By namespace, what has no controller."""


class World:
    """Caches of the cluster, kept by `run`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._heads: dict[str, Informer[Head]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self.pods: Informer[PodView] = Informer(
            client,
            POD_VIEWS,
            indexers={
                BY_CONTROLLER: _pod_controller,
                ORPHANS: lambda pod: [] if _pod_controller(pod) else [pod.metadata.namespace],
                BY_NODE: lambda pod: [pod.spec.node_name],
            },
        )
        self.replica_sets: Informer[JsonObject] = Informer(
            client,
            REPLICA_SETS.untyped,
            indexers={
                BY_CONTROLLER: lambda document: [document_controller_uid(document)],
                ORPHANS: lambda document: (
                    [] if document_controller_uid(document) else [document["metadata"]["namespace"]]
                ),
            },
        )
        self.deployments: Informer[JsonObject] = Informer(client, DEPLOYMENTS.untyped)
        self.jobs: Informer[JsonObject] = Informer(client, BATCH_JOBS.untyped)
        self.nodes: Informer[JsonObject] = Informer(client, NODES.untyped)
        self.stateful_sets: Informer[JsonObject] = Informer(client, STATEFUL_SETS.untyped)
        self.daemon_sets: Informer[JsonObject] = Informer(client, DAEMON_SETS.untyped)
        self.services: Informer[JsonObject] = Informer(
            client, SERVICES.untyped, indexers={BY_NAMESPACE: lambda service: [service["metadata"]["namespace"]]}
        )
        self._shared: list[Informer[Any]] = [
            *(self.pods, self.nodes, self.jobs, self.services),
            *(self.replica_sets, self.deployments, self.stateful_sets, self.daemon_sets),
        ]

    def heads(self, resource: Resource[Any]) -> Informer[Any]:
        """An informer over the collection that knows at least each object's metadata."""
        for informer in self._shared:
            if _same(informer.resource, resource):
                return informer
        name = f"{resource.plural}.{resource.group}"
        if name not in self._heads:
            informer = self._heads[name] = Informer(self._client, resource.as_type(Head))
            if self._tasks is not None:
                self._tasks.create_task(informer.run())
        return self._heads[name]

    async def run(self) -> None:
        """Follow every collection asked for, also those asked for later."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for informer in (*self._shared, *self._heads.values()):
                tasks.create_task(informer.run())

    async def synced(self) -> None:
        for informer in (*self._shared, *self._heads.values()):
            await informer.synced()


def _pod_controller(pod: PodView) -> list[str]:
    owner = controller_of(pod.metadata.owner_references)
    return [owner.uid] if owner is not None else []


def _same(one: Resource[Any], other: Resource[Any]) -> bool:
    return (one.group, one.plural) == (other.group, other.plural)
