"""The pods of the owners of one kind: whose each is, making and deleting them, and what of that is not seen yet.

Neighbours: `dependents` lets go and takes, `expectations` remembers; the workload controllers decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import PODS
from volcano.kube.client import Client
from volcano.kube.errors import NotFound
from volcano.kube.informer import Callbacks, Informer
from volcano.kube.workqueue import WorkQueue
from volcano.local.builtin.dependents import Dependents, pod_meta
from volcano.local.builtin.expectations import Expectations
from volcano.local.builtin.views import PodView, controller_of
from volcano.local.builtin.world import World
from volcano.local.steady import steady_seconds


class OwnedPods:
    """Puts the keys of owners whose pods have changed into their controller's queue."""

    def __init__(
        self,
        client: Client,
        world: World,
        resource: Resource[Any],
        owners: Informer[JsonObject],
        queue: WorkQueue[str],
        may_take: Callable[[JsonObject, PodView], bool] = lambda _owner, _pod: True,
    ) -> None:
        """`may_take` says what else, beside labels, an orphan must have to become a pod of an owner."""
        self._client = client
        self._known = world.pods.store
        self._kind = resource.api_version, resource.kind
        self._queue = queue
        self._expectations = Expectations()
        self._dependents = Dependents(client, PODS.untyped, world.pods, pod_meta, resource, owners, may_take)
        world.pods.add_handler(Callbacks(self._seen, self._changed, self._gone))

    async def claim(self, owner: JsonObject) -> list[PodView]:
        """The pods of `owner`, after letting go and taking what has to be."""
        return await self._dependents.claim(owner)

    def are_settled(self, owner: JsonObject) -> bool:
        """Whether all that was made or deleted for `owner` is seen by now, so that its pods may be counted."""
        return self._expectations.are_met(owner["metadata"]["uid"], self._known, steady_seconds())

    async def create(self, owner: JsonObject, pod: JsonObject) -> None:
        created = await self._client.create(PODS.untyped, pod)
        key = f"{created['metadata']['namespace']}/{created['metadata']['name']}"
        if key not in self._known:
            self._expectations.created(owner["metadata"]["uid"], key, steady_seconds())

    async def delete(self, owner: JsonObject, pod: PodView) -> None:
        uid, key = owner["metadata"]["uid"], pod.metadata.key
        self._expectations.deleted(uid, key, steady_seconds())
        try:
            await self._client.delete(PODS, pod.metadata.name, pod.metadata.namespace, uid=pod.metadata.uid)
        except NotFound:
            self._expectations.seen(uid, key, is_going=True)

    def forget(self, owner: JsonObject) -> None:
        """The owner has gone."""
        self._expectations.forget(owner["metadata"]["uid"])

    def _seen(self, pod: PodView) -> None:
        self._follow(pod, is_going=pod.metadata.deletion_timestamp is not None)

    def _changed(self, old: PodView, new: PodView) -> None:
        if controller_of(old.metadata.owner_references) != controller_of(new.metadata.owner_references):
            self._follow(old, is_going=True)
        self._seen(new)

    def _gone(self, pod: PodView) -> None:
        self._follow(pod, is_going=True)

    def _follow(self, pod: PodView, *, is_going: bool) -> None:
        owner = controller_of(pod.metadata.owner_references)
        if owner is not None and (owner.api_version, owner.kind) == self._kind:
            self._expectations.seen(owner.uid, pod.metadata.key, is_going=is_going)
        for key in self._dependents.concerned(pod):
            self._queue.add(key)
