"""The ReplicaSet controller: as many pods as `spec.replicas` says.

Neighbours: `scaling` decides; `deployments` makes replica sets.
"""

from __future__ import annotations

import asyncio
import time

from volcano.api.meta import JsonObject
from volcano.api.resources import PODS, REPLICA_SETS
from volcano.kube.errors import NotFound
from volcano.kube.informer import Callbacks
from volcano.local.builtin import scaling
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.dependents import Dependents, pod_meta
from volcano.local.builtin.expectations import Expectations
from volcano.local.builtin.podmaking import pod_from_template
from volcano.local.builtin.views import PodView, controller_of
from volcano.local.steady import steady_seconds

_FIRST_BATCH = 1
_LARGEST_BATCH = 64


class ReplicaSetController(Controller):
    name = "replicaset"

    def connect(self) -> None:
        self._expectations = Expectations()
        world = self.world
        self._pods = Dependents(
            *(self.client, PODS.untyped, world.pods, pod_meta, REPLICA_SETS, world.replica_sets),
            may_take=lambda _owner, pod: pod.is_active,
        )
        world.replica_sets.add_handler(Callbacks(self._add, lambda _old, new: self._add(new), self._forget))
        world.pods.add_handler(Callbacks(self._pod_seen, self._pod_changed, self._pod_gone))

    def _forget(self, document: JsonObject) -> None:
        self._expectations.forget(document["metadata"]["uid"])

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
        if owner is not None and owner.kind == "ReplicaSet":
            self._expectations.seen(owner.uid, pod.metadata.key, is_going=is_going)
        for key in self._pods.concerned(pod):
            self.queue.add(key)

    async def reconcile(self, key: str) -> float | None:
        replica_set = self.world.replica_sets.store.get(key)
        if replica_set is None:
            return None
        uid = replica_set["metadata"]["uid"]
        pods = await self._pods.claim(replica_set)
        may_act = self._expectations.are_met(uid, self.world.pods.store, steady_seconds())
        if may_act and "deletionTimestamp" not in replica_set["metadata"]:
            await self._scale(replica_set, scaling.plan(replica_set, pods))
        status, again = scaling.status(replica_set, pods, time.time())
        if any((replica_set.get("status") or {}).get(name, 0) != value for name, value in status.items()):
            metadata = replica_set["metadata"]
            body = {"metadata": {"uid": uid}, "status": status}
            try:
                await self.client.patch(
                    REPLICA_SETS.untyped, metadata["name"], body, metadata["namespace"], subresource="status"
                )
            except NotFound:
                return None
        return again

    async def _scale(self, replica_set: JsonObject, plan: scaling.ScalePlan) -> None:
        """Create in growing batches, so that a template the server refuses costs few requests."""
        missing, batch = plan.create, _FIRST_BATCH
        while missing > 0:
            await asyncio.gather(*(self._create(replica_set) for _ in range(min(batch, missing))))
            missing -= batch
            batch = min(batch * 2, _LARGEST_BATCH)
        await asyncio.gather(*(self._delete(replica_set, pod) for pod in plan.delete))

    async def _create(self, replica_set: JsonObject) -> None:
        pod = pod_from_template(replica_set, "apps/v1", "ReplicaSet", replica_set["spec"]["template"])
        created = await self.client.create(PODS.untyped, pod)
        key = f"{created['metadata']['namespace']}/{created['metadata']['name']}"
        if key not in self.world.pods.store:
            self._expectations.created(replica_set["metadata"]["uid"], key, steady_seconds())

    async def _delete(self, replica_set: JsonObject, pod: PodView) -> None:
        metadata = pod.metadata
        self._expectations.deleted(replica_set["metadata"]["uid"], metadata.key, steady_seconds())
        try:
            await self.client.delete(PODS, metadata.name, metadata.namespace, uid=metadata.uid)
        except NotFound:
            self._expectations.seen(replica_set["metadata"]["uid"], metadata.key, is_going=True)
