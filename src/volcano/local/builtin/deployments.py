"""The Deployment controller: one replica set per template, rolled over as the strategy says.

Neighbours: `rollout` decides; `replicasets` makes the pods.
"""

from __future__ import annotations

import time

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.api.resources import DEPLOYMENTS, REPLICA_SETS
from volcano.kube.errors import AlreadyExists
from volcano.kube.informer import Callbacks
from volcano.local.builtin import progress, rollout
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.dependents import Dependents, document_meta
from volcano.local.builtin.views import document_controller_uid


class DeploymentController(Controller):
    name = "deployment"

    def connect(self) -> None:
        world = self.world
        self._replica_sets = Dependents(
            *(self.client, REPLICA_SETS.untyped, world.replica_sets, document_meta, DEPLOYMENTS, world.deployments)
        )
        world.deployments.add_handler(Callbacks(self._add, lambda _old, new: self._add(new)))
        world.replica_sets.add_handler(Callbacks(self._add_owner, self._changed, self._add_owner))

    def _add_owner(self, replica_set: JsonObject) -> None:
        for key in self._replica_sets.concerned(replica_set):
            self.queue.add(key)

    def _changed(self, old: JsonObject, new: JsonObject) -> None:
        if document_controller_uid(old) != document_controller_uid(new):
            self._add_owner(old)
        self._add_owner(new)

    async def reconcile(self, key: str) -> float | None:
        deployment = self.world.deployments.store.get(key)
        if deployment is None or "deletionTimestamp" in deployment["metadata"]:
            return None
        replica_sets = await self._replica_sets.claim(deployment)
        await self._perform(deployment, rollout.plan(deployment, replica_sets))
        return await self._report(deployment, replica_sets)

    async def _perform(self, deployment: JsonObject, plan: rollout.RolloutPlan) -> None:
        namespace = deployment["metadata"]["namespace"]
        if plan.create is not None:
            try:
                await self.client.create(REPLICA_SETS.untyped, plan.create)
            except AlreadyExists:  # made a moment ago and not in the cache yet
                return
        sizes = {name: {"spec": {"replicas": size}} for name, size in plan.sizes.items()}
        marks = {name: _revision(revision) for name, revision in plan.revisions.items()}
        for name in {**sizes, **marks}:
            body: JsonObject = {**sizes.get(name, {}), **marks.get(name, {})}
            await self.client.patch(REPLICA_SETS.untyped, name, body, namespace)
        for name in plan.delete:
            await self.client.delete(REPLICA_SETS, name, namespace, propagation="Background")
        annotations = deployment["metadata"].get("annotations") or {}
        if annotations.get(keys.DEPLOYMENT_REVISION) != plan.revision:
            body = _revision(plan.revision)
            await self.client.patch(DEPLOYMENTS.untyped, deployment["metadata"]["name"], body, namespace)

    async def _report(self, deployment: JsonObject, replica_sets: list[JsonObject]) -> float | None:
        status, again = progress.status(deployment, replica_sets, time.time())
        stored = deployment.get("status") or {}
        if any(stored.get(name, 0) != value for name, value in status.items()):
            await self.show(DEPLOYMENTS, deployment, status)
        return again


def _revision(revision: str) -> JsonObject:
    return {"metadata": {"annotations": {keys.DEPLOYMENT_REVISION: revision}}}
