"""What controllers of numbered or placed pods share: keys from objects and pods, creating, deleting, status.

Neighbours: `statefulsets` and `daemonsets` derive from it and decide.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import PODS
from volcano.kube.errors import AlreadyExists, NotFound
from volcano.kube.informer import Callbacks, Informer
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.dependents import Dependents, pod_meta
from volcano.local.builtin.expectations import Expectations
from volcano.local.builtin.revisions import Revisions
from volcano.local.builtin.views import PodView, controller_of
from volcano.local.steady import steady_seconds


class OwnerController(Controller):
    """`step` acts on one owner and its pods and returns the status to show."""

    kind: ClassVar[str]
    resource: ClassVar[Resource[JsonObject]]

    def connect(self) -> None:
        self._expectations = Expectations()
        self.revisions = Revisions(self.client, self.kind)
        self.owners: Informer[JsonObject] = self.world.heads(self.resource)
        self.owners.add_handler(Callbacks(self._add, lambda _old, new: self._add(new), self._forget))
        self._pods = Dependents(
            *(self.client, PODS.untyped, self.world.pods, pod_meta, self.resource, self.owners), may_take=self.may_take
        )
        self.world.pods.add_handler(Callbacks(self._pod_seen, self._pod_changed, self._pod_gone))

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
        uid = owner["metadata"]["uid"]
        if not self._expectations.are_met(uid, self.world.pods.store, steady_seconds()):
            return 1.0
        status = await self.step(owner, await self._pods.claim(owner))
        stored = owner.get("status") or {}
        if any(stored.get(name) != value for name, value in status.items() if value or name in stored):
            await self._report(owner, status)
        return None

    async def create(self, owner: JsonObject, pod: JsonObject) -> None:
        try:
            created = await self.client.create(PODS.untyped, pod)
        except AlreadyExists:  # an earlier one is still going; its end brings us back
            return
        key = f"{created['metadata']['namespace']}/{created['metadata']['name']}"
        if key not in self.world.pods.store:
            self._expectations.created(owner["metadata"]["uid"], key, steady_seconds())

    async def delete(self, owner: JsonObject, pod: PodView) -> None:
        uid = owner["metadata"]["uid"]
        self._expectations.deleted(uid, pod.metadata.key, steady_seconds())
        try:
            await self.client.delete(PODS, pod.metadata.name, pod.metadata.namespace, uid=pod.metadata.uid)
        except NotFound:
            self._expectations.seen(uid, pod.metadata.key, is_going=True)

    async def outdated(self, owner: JsonObject, revision: str) -> set[str]:
        """Uids of the owner's pods that were made from another template."""
        listing = await self.client.list(PODS.untyped, owner["metadata"]["namespace"])
        return {
            pod["metadata"]["uid"]
            for pod in listing.items
            if any(item["uid"] == owner["metadata"]["uid"] for item in pod["metadata"].get("ownerReferences") or ())
            and (pod["metadata"].get("labels") or {}).get(keys.CONTROLLER_REVISION_HASH) != revision
        }

    async def _report(self, owner: JsonObject, status: JsonObject) -> None:
        metadata = owner["metadata"]
        body = {"metadata": {"uid": metadata["uid"]}, "status": status}
        try:
            await self.client.patch(self.resource, metadata["name"], body, metadata["namespace"], subresource="status")
        except NotFound:
            return

    def _forget(self, owner: JsonObject) -> None:
        self.revisions.forget(owner["metadata"]["uid"])
        self._expectations.forget(owner["metadata"]["uid"])

    def _pod_seen(self, pod: PodView) -> None:
        self._follow(pod, is_going=pod.metadata.deletion_timestamp is not None)

    def _pod_changed(self, old: PodView, new: PodView) -> None:
        if controller_of(old.metadata.owner_references) != controller_of(new.metadata.owner_references):
            self._follow(old, is_going=True)
        self._pod_seen(new)

    def _pod_gone(self, pod: PodView) -> None:
        self._follow(pod, is_going=True)

    def _follow(self, pod: PodView, *, is_going: bool) -> None:
        owner = controller_of(pod.metadata.owner_references)
        if owner is not None and owner.kind == self.kind:
            self._expectations.seen(owner.uid, pod.metadata.key, is_going=is_going)
        for key in self._pods.concerned(pod):
            self.queue.add(key)
