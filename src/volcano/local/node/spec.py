"""What a simulated node is: its size, labels and taints. Pure.

Neighbours: `simulated` runs them; `main` makes them from flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

DEFAULT_PODS = 110
DISK = "1Ti"
"""Ephemeral storage: nobody simulates disks, but pods that ask for some must find it."""


@dataclass(frozen=True)
class NodeSpec:
    """One simulated node."""

    name: str
    cpu: str = "8"
    memory: str = "32Gi"
    pods: int = DEFAULT_PODS
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()
    resources: Mapping[str, str] = field(default_factory=dict)

    @property
    def capacity(self) -> dict[str, str]:
        sizes = {"cpu": self.cpu, "memory": self.memory, "ephemeral-storage": DISK, "pods": str(self.pods)}
        return {**sizes, **self.resources}


def uniform(count: int, cpu: str, memory: str, *, prefix: str = "sim", pods: int = DEFAULT_PODS) -> list[NodeSpec]:
    """`count` equal nodes, named so that they sort."""
    width = max(3, len(str(count - 1)))
    return [NodeSpec(f"{prefix}-{index:0{width}d}", cpu, memory, pods) for index in range(count)]
