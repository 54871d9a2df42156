"""Random histories of nodes that schedulers share, of pods on them, and of schedulers that take them over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from tests.controllers.simulation.followers import Follower
from volcano.controllers.runtime import Context
from volcano.controllers.sharding.config import KEY, from_flags
from volcano.controllers.sharding.controller import ShardingController

NODES: Final = tuple(f"n{number}" for number in range(6))
PODS: Final = tuple(f"p{number}" for number in range(8))
CONFIGMAP: Final = ("volcano-system", "sharding")
SCHEDULERS: Final = ("first", "second", "third")
BUSY: Final = 0.5


class Shards(Follower):
    kinds = ("nodes", "pods", "nodeshards", "configmaps")

    @property
    def acts(self) -> Mapping[Callable[[Any], Awaitable[None]], int]:
        return ACTS

    def controller(self, context: Context) -> ShardingController:
        return ShardingController(context, from_flags([], 60.0, trigger=True), configmap=CONFIGMAP)

    async def begin(self) -> None:
        await self.somebody_configures()
        await self.node_comes()

    # What happens

    async def somebody_configures(self) -> None:
        """One scheduler for idle nodes, and one for busy ones."""
        self.idle, self.busy = self.random.sample(SCHEDULERS, 2)
        text = (
            f"schedulerConfigs: [{{name: {self.idle}, cpuUtilizationMax: {BUSY}}},"
            f" {{name: {self.busy}, cpuUtilizationMin: {BUSY}}}]"
        )
        namespace, name = CONFIGMAP
        self.make("configmaps", name, namespace, data={KEY: text})
        self.server.patch("configmaps", f"{namespace}/{name}", {"data": {KEY: text}})

    async def node_comes(self) -> None:
        self.make("nodes", self.random.choice(NODES), status={"capacity": {"cpu": "4", "memory": "8Gi"}})

    async def node_goes(self) -> None:
        self.remove_some("nodes")

    async def pod_starts(self) -> None:
        requests = {"cpu": self.random.choice(("500m", "3"))}
        spec = {"nodeName": self.random.choice(NODES), "containers": [{"resources": {"requests": requests}}]}
        self.make("pods", self.random.choice(PODS), "ns", spec=spec, status={"phase": "Running"})

    async def pod_ends(self) -> None:
        if key := self.some("pods"):
            self.server.patch("pods", key, {"status": {"phase": "Succeeded"}})

    async def pod_goes(self) -> None:
        self.remove_some("pods")

    async def scheduler_takes_over(self) -> None:
        """What it was told by then."""
        if name := self.some("nodeshards"):
            desired = self.server.objects["nodeshards"][name]["spec"]["nodesDesired"]
            self.server.patch("nodeshards", name, {"status": {"nodesInUse": desired}})

    async def somebody_deletes_or_spoils_a_shard(self) -> None:
        if self.random.random() < 0.5:
            self.remove_some("nodeshards")
        elif name := self.some("nodeshards"):
            change = self.random.choice(({"spec": {"nodesDesired": ["n0"]}}, {"status": {"nodesToAdd": ["n0"]}}))
            self.server.patch("nodeshards", name, change)

    # What must have come of it

    def check(self) -> None:
        shards = self.server.objects["nodeshards"]
        assert {name: set(shard["spec"]["nodesDesired"]) for name, shard in shards.items()} == self.expected()
        for shard in shards.values():
            desired, status = set(shard["spec"]["nodesDesired"]), shard.get("status", {})
            used = set(status.get("nodesInUse", []))
            told = set(status.get("nodesToAdd", [])), set(status.get("nodesToRemove", []))
            assert told == (desired - used, used - desired), shard

    def expected(self) -> dict[str, set[str]]:
        """Idle nodes are the first one's."""
        idle = {node for node in self.server.objects["nodes"] if self.share(node) <= BUSY}
        return {self.idle: idle, self.busy: self.server.objects["nodes"].keys() - idle}

    def share(self, node: str) -> float:
        here = [pod for pod in self.documents("pods") if pod["spec"]["nodeName"] == node]
        cpus = [
            0.5 if pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "500m" else 3.0
            for pod in here
            if pod["status"]["phase"] == "Running"
        ]
        return min(round(sum(cpus) / 4, 2), 1.0)


ACTS: Mapping[Callable[[Any], Awaitable[None]], int] = {
    Shards.somebody_configures: 2,
    Shards.node_comes: 6,
    Shards.node_goes: 2,
    Shards.pod_starts: 6,
    Shards.pod_ends: 3,
    Shards.pod_goes: 2,
    Shards.scheduler_takes_over: 4,
    Shards.somebody_deletes_or_spoils_a_shard: 2,
}
