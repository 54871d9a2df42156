"""Which nodes are this scheduler's own, where several share a cluster by NodeShards.

An index beside the tables (`cluster.index(Shards)`); framework/session.py asks it, daemon/statuses.py writes the use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from volcano.api.shard import NodeShard
    from volcano.scheduler.cluster.cluster import Cluster

NODE_SHARDS: Final = "nodeshards"


@dataclass(frozen=True, slots=True)
class ShardUse:
    """What the scheduler works on, and what is between that and what it should."""

    name: str
    in_use: frozenset[str]
    to_add: frozenset[str] = frozenset()
    to_remove: frozenset[str] = frozenset()
    is_known: bool = True
    """Whether the NodeShard exists; without it, the nodes stay those it had."""


class Shards:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen = -1
        self._use: dict[str, ShardUse] = {}

    def use(self, name: str) -> ShardUse:
        """The nodes of the shard of this name that no other scheduler still has in use."""
        version = self._cluster.object_versions[NODE_SHARDS]
        if name not in self._use or version != self._seen:
            self._use[name] = self._derived(name)
            self._seen = version
        return self._use[name]

    def _derived(self, name: str) -> ShardUse:
        shards: Mapping[str, NodeShard] = self._cluster.objects[NODE_SHARDS]
        mine = shards.get(name)
        if mine is None:
            before = self._use.get(name)
            return ShardUse(name, before.in_use if before is not None else frozenset(), is_known=False)
        desired = frozenset(mine.spec.nodes_desired)
        taken = {node for other, shard in shards.items() if other != name for node in shard.status.nodes_in_use}
        in_use = desired - taken
        return ShardUse(name, in_use, to_add=desired - in_use, to_remove=in_use - desired)
