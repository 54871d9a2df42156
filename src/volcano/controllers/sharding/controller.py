"""The sharding controller: keeps one NodeShard per scheduler, and shares out nodes anew when much has changed.

`assign.py` decides, `usage.py` counts what pods ask for. Off unless `--controllers` names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from volcano.api import resources
from volcano.api.meta import JsonObject
from volcano.api.shard import NodeShard
from volcano.controllers.notes import WARNING
from volcano.controllers.runtime import Context
from volcano.controllers.sharding import config as configuration
from volcano.controllers.sharding.assign import NodeUse, assign, differs_enough
from volcano.controllers.sharding.config import ConfigProblem, Sharding
from volcano.controllers.sharding.usage import PlacedPod, SizedNode, Usage
from volcano.controllers.statuses import difference
from volcano.kube.errors import AlreadyExists, NotFound
from volcano.kube.informer import Callbacks
from volcano.kube.workqueue import WorkQueue

CONFIGMAPS: Final = resources.CONFIGMAPS.untyped
PLACED_PODS: Final = resources.PODS.as_type(PlacedPod)
SIZED_NODES: Final = resources.NODES.as_type(SizedNode)
ALL: Final = "shards"
CONFIG: Final = "config"
SETTLE_SECONDS: Final = 0.2
MUCH: Final = 0.5
"""A node whose use moved by more than this is worth a new division."""


class ShardingController:
    name = "sharding-controller"

    def __init__(self, context: Context, fallback: Sharding, *, configmap: tuple[str, str]) -> None:
        self.workers = 1
        self.queue: WorkQueue[str] = WorkQueue(max_seconds=60.0)
        self._context = context
        self._client = context.client
        self._config = fallback
        self._namespace, self._name = configmap
        self._usage = Usage()
        self._divided: dict[str, NodeUse] = {}
        """The nodes as they were when they were last divided."""
        informers = context.informers
        touched = Callbacks[JsonObject](self._configured, lambda _old, new: self._configured(new))
        self._configmap = informers.one(CONFIGMAPS, self._name, self._namespace, touched)
        self._nodes = informers.of(SIZED_NODES, Callbacks(self._node_seen, self._node_changed, self._node_gone))
        informers.of(PLACED_PODS, Callbacks(self._pod_seen, lambda _old, new: self._pod_seen(new), self._pod_gone))
        self._shards = informers.of(resources.NODE_SHARDS, Callbacks(None, self._shard_changed, self._shard_gone))
        self.queue.add(CONFIG)

    async def reconcile(self, key: str) -> None:
        if key == CONFIG:
            self._configure()
        await self._divide()
        self.queue.add_after(ALL, self._config.period_seconds)

    async def gave_up(self, key: str, error: Exception) -> None:
        self.queue.add_after(key, self._config.period_seconds)

    def _configure(self) -> None:
        """A ConfigMap that cannot be used leaves what is in force, which is the flags at first."""
        document = self._configmap.get(self._name, self._namespace)
        if document is None:
            return
        try:
            self._config, repeated = configuration.from_configmap(document)
        except ConfigProblem as problem:
            self._context.recorder.record(CONFIGMAPS, document, WARNING, "InvalidShardingConfig", str(problem))
            return
        for remark in repeated:
            message = f"{configuration.KEY}: {remark}"
            self._context.recorder.record(CONFIGMAPS, document, WARNING, "RepeatedKey", message)

    async def _divide(self) -> None:
        nodes = [self._usage.of(node) for node in self._nodes.store.values()]
        wanted = assign(self._config.scheduler_configs, nodes)
        self._divided = {node.name: node for node in nodes}
        for name, chosen in wanted.items():
            await self._keep(name, chosen)
        for name in self._shards.store.keys() - wanted.keys():
            await self._delete(name)

    async def _keep(self, name: str, wanted: Sequence[str]) -> None:
        shard = self._shards.store.get(name)
        if shard is None:
            body = {"metadata": {"name": name}, "spec": {"nodesDesired": list(wanted)}}
            try:
                shard = await self._client.create(resources.NODE_SHARDS, cast("NodeShard", body))
            except AlreadyExists:
                shard = await self._client.get(resources.NODE_SHARDS, name)
        if differs_enough(shard.spec.nodes_desired, wanted):
            change = {"spec": {"nodesDesired": list(wanted)}}
            shard = await self._client.patch(resources.NODE_SHARDS, name, change)
        await self._keep_status(name, shard)

    async def _keep_status(self, name: str, shard: NodeShard) -> None:
        """What the scheduler still has to take over and to give up; it writes itself what it uses."""
        desired, used = set(shard.spec.nodes_desired), set(shard.status.nodes_in_use)
        status: JsonObject = {"nodesToAdd": sorted(desired - used), "nodesToRemove": sorted(used - desired)}
        known = {
            "nodesToAdd": sorted(shard.status.nodes_to_add),
            "nodesToRemove": sorted(shard.status.nodes_to_remove),
        }
        if change := difference(known, status):
            now = self._context.now().isoformat().replace("+00:00", "Z")
            body = {"status": {**change, "lastUpdateTime": now}}
            await self._client.patch(resources.NODE_SHARDS, name, body, subresource="status")

    async def _delete(self, name: str) -> None:
        try:
            await self._client.delete(resources.NODE_SHARDS, name)
        except NotFound:
            return

    # What the watches tell

    def _configured(self, configmap: JsonObject) -> None:
        self.queue.add(CONFIG)

    def _node_seen(self, node: SizedNode) -> None:
        self._soon()

    def _node_changed(self, old: SizedNode, new: SizedNode) -> None:
        if old.metadata.labels != new.metadata.labels:
            self._soon()
        else:
            self._look_at(new.metadata.name)

    def _node_gone(self, node: SizedNode) -> None:
        self._divided.pop(node.metadata.name, None)
        self._soon()

    def _pod_seen(self, pod: PlacedPod) -> None:
        if node := self._usage.put(pod):
            self._look_at(node)

    def _pod_gone(self, pod: PlacedPod) -> None:
        if node := self._usage.drop(pod.metadata.key):
            self._look_at(node)

    def _look_at(self, name: str) -> None:
        node, before = self._nodes.store.get(name), self._divided.get(name)
        if node is None or before is None:
            return
        now = self._usage.of(node)
        if abs(now.cpu - before.cpu) > MUCH or abs(now.memory - before.memory) > MUCH:
            self._soon()

    def _shard_changed(self, old: NodeShard, new: NodeShard) -> None:
        if old.status.nodes_in_use != new.status.nodes_in_use or old.spec != new.spec:
            self.queue.add(ALL)

    def _shard_gone(self, shard: NodeShard) -> None:
        self.queue.add(ALL)

    def _soon(self) -> None:
        if self._config.enable_node_event_trigger:
            self.queue.add_after(ALL, SETTLE_SECONDS)
