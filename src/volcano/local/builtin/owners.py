"""What controllers of numbered or placed pods share: keys from objects and pods, creating, deleting, status.

Neighbours: `statefulsets` and `daemonsets` derive from it and decide.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from contextlib import suppress
from typing import ClassVar

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import PODS
from volcano.kube.errors import AlreadyExists
from volcano.kube.informer import Callbacks, Informer
from volcano.local.builtin import earlyends
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.ownedpods import OwnedPods
from volcano.local.builtin.revisions import Revisions
from volcano.local.builtin.views import PodView


class OwnerController(Controller):
    """`step` acts on one owner and its pods and returns the status to show."""

    kind: ClassVar[str]
    resource: ClassVar[Resource[JsonObject]]

    def connect(self) -> None:
        self.revisions = Revisions(self.client, self.kind)
        self.owners: Informer[JsonObject] = self.world.heads(self.resource)
        self.owners.add_handler(Callbacks(self._add, lambda _old, new: self._add(new), self._forget))
        self._pods = OwnedPods(self.client, self.world, self.resource, self.owners, self.queue, self.may_take)

    def may_take(self, owner: JsonObject, pod: PodView) -> bool:
        """Whether an orphan that has the labels may become a pod of `owner`."""
        return True

    @abstractmethod
    async def step(self, owner: JsonObject, pods: list[PodView]) -> JsonObject:
        """Create and delete what is due; the status of `owner` after that."""

    async def reconcile(self, key: str) -> float | None:
        owner = self.owners.store.get(key)
        if owner is None or "deletionTimestamp" in owner["metadata"]:
            return None
        if not self._pods.are_settled(owner):
            return 1.0
        status = await self.step(owner, await self._pods.claim(owner))
        stored = owner.get("status") or {}
        if any(stored.get(name) != value for name, value in status.items() if value or name in stored):
            await self.show(self.resource, owner, status)
        return None

    async def create(self, owner: JsonObject, pod: JsonObject) -> None:
        with suppress(AlreadyExists):  # an earlier one is still going; its end brings us back
            await self._pods.create(owner, pod)

    async def delete(self, owner: JsonObject, pod: PodView) -> None:
        await self._pods.delete(owner, pod)

    def spared(self, owner: JsonObject, pods: list[PodView], outdated: set[str]) -> set[str]:
        """Pods that failed at once and are to be replaced only in a while; then comes another look."""
        waits = earlyends.spared(pods, outdated, time.time())
        if waits:
            self.queue.add_after(f"{owner['metadata']['namespace']}/{owner['metadata']['name']}", min(waits.values()))
        return set(waits)

    async def outdated(self, owner: JsonObject, revision: str) -> set[str]:
        """Uids of the owner's pods that were made from another template."""
        listing = await self.client.list(PODS.untyped, owner["metadata"]["namespace"])
        return {
            pod["metadata"]["uid"]
            for pod in listing.items
            if any(item["uid"] == owner["metadata"]["uid"] for item in pod["metadata"].get("ownerReferences") or ())
            and (pod["metadata"].get("labels") or {}).get(keys.CONTROLLER_REVISION_HASH) != revision
        }

    def _forget(self, owner: JsonObject) -> None:
        self.revisions.forget(owner["metadata"]["uid"])
        self._pods.forget(owner)
