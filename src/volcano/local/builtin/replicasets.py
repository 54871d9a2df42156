"""The ReplicaSet controller: as many pods as `spec.replicas` says.

Neighbours: `scaling` decides; `deployments` makes replica sets.
"""

from __future__ import annotations

import asyncio
import time

from volcano.api.meta import JsonObject
from volcano.api.resources import REPLICA_SETS
from volcano.kube.informer import Callbacks
from volcano.local.builtin import earlyends, scaling
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.ownedpods import OwnedPods
from volcano.local.builtin.podmaking import pod_from_template

_FIRST_BATCH = 1
_LARGEST_BATCH = 64


class ReplicaSetController(Controller):
    name = "replicaset"

    def connect(self) -> None:
        owners = self.world.replica_sets
        self._pods = OwnedPods(
            *(self.client, self.world, REPLICA_SETS, owners, self.queue), may_take=lambda _owner, pod: pod.is_active
        )
        owners.add_handler(Callbacks(self._add, lambda _old, new: self._add(new), self._pods.forget))

    async def reconcile(self, key: str) -> float | None:
        replica_set = self.world.replica_sets.store.get(key)
        if replica_set is None:
            return None
        pods = await self._pods.claim(replica_set)
        now, waits = time.time(), []
        if self._pods.are_settled(replica_set) and "deletionTimestamp" not in replica_set["metadata"]:
            plan = scaling.plan(replica_set, pods)
            wait = earlyends.seconds_to_next(pods, scaling.wanted(replica_set), now) if plan.create else 0.0
            if wait:
                waits.append(wait)
            else:
                await self._scale(replica_set, plan)
        status, again = scaling.status(replica_set, pods, now)
        if any((replica_set.get("status") or {}).get(name, 0) != value for name, value in status.items()):
            await self.show(REPLICA_SETS, replica_set, status)
        return min([*waits, *([] if again is None else [again])], default=None)

    async def _scale(self, replica_set: JsonObject, plan: scaling.ScalePlan) -> None:
        """Create in growing batches, so that a template the server refuses costs few requests."""
        missing, batch = plan.create, _FIRST_BATCH
        while missing > 0:
            await asyncio.gather(*(self._create(replica_set) for _ in range(min(batch, missing))))
            missing -= batch
            batch = min(batch * 2, _LARGEST_BATCH)
        await asyncio.gather(*(self._pods.delete(replica_set, pod) for pod in plan.delete))

    async def _create(self, replica_set: JsonObject) -> None:
        pod = pod_from_template(replica_set, "apps/v1", "ReplicaSet", replica_set["spec"]["template"])
        await self._pods.create(replica_set, pod)
