"""The namespace controller: a namespace that is being deleted is emptied, then let go.

Neighbours: `kinds` lists what may live in a namespace.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import NAMESPACES
from volcano.kube.client import Client
from volcano.kube.errors import MethodNotAllowed, NotFound
from volcano.kube.informer import Callbacks, Informer
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.kinds import Kinds
from volcano.local.builtin.views import Head
from volcano.local.builtin.world import World

_HEADS_LIMIT = 1
_AGAIN_SECONDS = 0.5


class NamespaceController(Controller):
    name = "namespace"

    def __init__(self, client: Client, world: World, kinds: Kinds, namespaces: Informer[JsonObject]) -> None:
        super().__init__(client, world)
        self._kinds = kinds
        self._namespaces = namespaces

    def connect(self) -> None:
        self._namespaces.add_handler(Callbacks(self._seen, lambda _old, new: self._seen(new)))

    def _seen(self, namespace: JsonObject) -> None:
        if "deletionTimestamp" in namespace["metadata"]:
            self.queue.add(namespace["metadata"]["name"])

    async def reconcile(self, key: str) -> float | None:
        namespace = self._namespaces.store.get(key)
        if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
            return None
        left = await asyncio.gather(*(self._empty(resource, key) for resource in self._kinds.namespaced))
        if any(left):
            return _AGAIN_SECONDS
        await self._finalize(key)
        return None

    async def _empty(self, resource: Resource[Any], namespace: str) -> bool:
        """Delete what is in one collection; whether something was there."""
        heads = resource.as_type(Head)
        try:
            path, query = resource.path(namespace), [("limit", str(_HEADS_LIMIT))]
            listing = json.loads((await self.client.raw("GET", path, query)).content)
            if not listing.get("items"):
                return False
            await self.client.delete_collection(heads, namespace, propagation="Background")
        except (NotFound, MethodNotAllowed):
            return False
        return True

    async def _finalize(self, name: str) -> None:
        try:
            namespace = await self.client.get(NAMESPACES.untyped, name)
            namespace["spec"] = {**(namespace.get("spec") or {}), "finalizers": []}
            path = NAMESPACES.path(None, name, "finalize")
            await self.client.raw("PUT", path, (), json.dumps(namespace).encode())
        except NotFound:
            return
