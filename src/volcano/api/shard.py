"""shard.volcano.sh/v1alpha1: NodeShard, the nodes one of several schedulers works on."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from volcano.api.constraints import Schema
from volcano.api.meta import Model, ObjectMeta, Time


class NodeShardSpec(Model, kw_only=True):
    nodes_desired: Annotated[list[str], Schema(required=True, doc="Nodes the shard should have.")] = []


class NodeShardStatus(Model, kw_only=True):
    last_update_time: Annotated[Time | None, Schema(doc="When this was written.")] = None
    nodes_in_use: Annotated[list[str], Schema(doc="Nodes the scheduler works on.")] = []
    nodes_to_remove: Annotated[list[str], Schema(doc="Nodes it is giving up.")] = []
    nodes_to_add: Annotated[list[str], Schema(doc="Nodes it is about to take.")] = []


class NodeShard(Model, kw_only=True):
    """Nodes of one scheduler; its name is the scheduler's."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[NodeShardSpec, Schema(required=True, doc="The nodes.")] = field(default_factory=NodeShardSpec)
    status: Annotated[NodeShardStatus, Schema(doc="What the scheduler uses.")] = field(default_factory=NodeShardStatus)
