"""The StatefulSet controller: numbered pods with stable names and claims, one after the other.

Neighbours: `ordinals` decides; `owners` is the shape shared with daemon sets.
"""

from __future__ import annotations

from volcano.api.meta import JsonObject
from volcano.api.resources import PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS
from volcano.kube.errors import AlreadyExists
from volcano.local.builtin import ordinals
from volcano.local.builtin.owners import OwnerController
from volcano.local.builtin.rollout import template_hash
from volcano.local.builtin.views import PodView


class StatefulSetController(OwnerController):
    name = "statefulset"
    kind = "StatefulSet"
    resource = STATEFUL_SETS.untyped

    async def step(self, owner: JsonObject, pods: list[PodView]) -> JsonObject:
        revision = template_hash(owner["spec"]["template"])
        await self.revisions.note(owner, revision)
        outdated = await self.outdated(owner, revision) if pods and self._may_differ(owner, revision) else set()
        plan = ordinals.plan(owner, pods, outdated, self.spared(owner, pods, outdated))
        for number in plan.create:
            for claim in ordinals.claims_of(owner, number):
                await self._claim(claim)
            await self.create(owner, ordinals.pod_of(owner, number, revision))
        for pod in plan.delete:
            await self.delete(owner, pod)
        return ordinals.status(owner, pods, revision, outdated)

    def may_take(self, owner: JsonObject, pod: PodView) -> bool:
        """Its pods are known by their numbers."""
        return ordinals.ordinal(owner, pod) is not None

    def _may_differ(self, owner: JsonObject, revision: str) -> bool:
        """Whether pods of an older template can be around: only then are their labels worth a request."""
        status = owner.get("status") or {}
        wanted = f"{owner['metadata']['name']}-{revision}"
        return bool(status.get("currentRevision")) and (
            status["currentRevision"] != wanted or status.get("updateRevision") != wanted
        )

    async def _claim(self, claim: JsonObject) -> None:
        try:
            await self.client.create(PERSISTENT_VOLUME_CLAIMS.untyped, claim)
        except AlreadyExists:
            return
