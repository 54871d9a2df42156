"""Measured load of nodes, as a monitor reports it: put in between cycles, read by whoever scores by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Measured:
    """Averages over the last ten minutes."""

    cpu_percent: float
    memory_percent: float
    at: float
    """Seconds since the epoch."""


class NodeUsage:
    """The last measurement of each node, by name: one for a cluster (`cluster.index(NodeUsage)`)."""

    def __init__(self, _cluster: Cluster) -> None:
        self.by_node: dict[str, Measured] = {}

    def put(self, node: str, measured: Measured) -> None:
        self.by_node[node] = measured
