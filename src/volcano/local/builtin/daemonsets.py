"""The DaemonSet controller: one pod on every node that suits.

Neighbours: `placing` decides; `owners` is the shape shared with stateful sets.
"""

from __future__ import annotations

from volcano.api.meta import JsonObject
from volcano.api.resources import DAEMON_SETS
from volcano.kube.informer import Callbacks
from volcano.local.builtin import placing
from volcano.local.builtin.owners import OwnerController
from volcano.local.builtin.rollout import template_hash
from volcano.local.builtin.views import PodView


class DaemonSetController(OwnerController):
    name = "daemonset"
    kind = "DaemonSet"
    resource = DAEMON_SETS.untyped

    def connect(self) -> None:
        super().connect()
        self.world.nodes.add_handler(Callbacks(self._node_came, self._node_changed, self._node_came))

    async def step(self, owner: JsonObject, pods: list[PodView]) -> JsonObject:
        revision, nodes = template_hash(owner["spec"]["template"]), list(self.world.nodes.store.values())
        await self.revisions.note(owner, revision)
        observed = (owner.get("status") or {}).get("observedGeneration", 0)
        may_differ = observed and (observed != owner["metadata"].get("generation") or self._is_updating(owner))
        outdated = await self.outdated(owner, revision) if pods and may_differ else set()
        plan = placing.plan(owner, nodes, pods, outdated, self.spared(owner, pods, outdated))
        for node in plan.create:
            await self.create(owner, placing.pod_on(owner, node, revision))
        for pod in plan.delete:
            await self.delete(owner, pod)
        return placing.status(owner, nodes, pods, outdated)

    def _is_updating(self, owner: JsonObject) -> bool:
        status = owner.get("status") or {}
        return bool(status.get("updatedNumberScheduled", 0) < status.get("currentNumberScheduled", 0))

    def _node_came(self, node: JsonObject) -> None:
        for owner in self.owners.store.values():
            self._add(owner)

    def _node_changed(self, old: JsonObject, new: JsonObject) -> None:
        """Heartbeats change nothing for daemons; labels and taints do."""
        taints = ((node.get("spec") or {}).get("taints") for node in (old, new))
        labels = (node["metadata"].get("labels") for node in (old, new))
        if len({repr(item) for item in taints}) > 1 or len({repr(item) for item in labels}) > 1:
            self._node_came(new)
