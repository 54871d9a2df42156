"""What pods ask of their nodes, kept up to date pod by pod.

Pure. Filled by controller.py from its watches.
"""

from __future__ import annotations

from typing import Final

from msgspec import field

from volcano.api import quantity
from volcano.api.meta import Model, ObjectMeta, ResourceList
from volcano.controllers.sharding.assign import NodeUse

MIRROR: Final = "kubernetes.io/config.mirror"
FINISHED: Final = frozenset({"Succeeded", "Failed"})
NOTHING: Final = (0, 0)


class ResourcesView(Model, kw_only=True):
    requests: ResourceList = field(default_factory=dict)


class ContainerView(Model, kw_only=True):
    resources: ResourcesView = field(default_factory=ResourcesView)


class PlacedSpec(Model, kw_only=True):
    node_name: str = ""
    containers: list[ContainerView] = field(default_factory=list)


class PlacedStatus(Model, kw_only=True):
    phase: str = ""


class PlacedPod(Model, kw_only=True):
    """A pod as far as its place and its requests go."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PlacedSpec = field(default_factory=PlacedSpec)
    status: PlacedStatus = field(default_factory=PlacedStatus)


class SizedStatus(Model, kw_only=True):
    capacity: ResourceList = field(default_factory=dict)


class SizedNode(Model, kw_only=True):
    """A node as far as its size goes."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    status: SizedStatus = field(default_factory=SizedStatus)


class Usage:
    """Processors (in thousandths) and memory that the pods of every node ask for."""

    def __init__(self) -> None:
        self._pods: dict[str, tuple[str, int, int]] = {}
        self._sums: dict[str, tuple[int, int]] = {}

    def put(self, pod: PlacedPod) -> str:
        """Count `pod` as it is now; the name of its node when its share changed, else empty."""
        key = pod.metadata.key
        before = self._pods.get(key)
        counts = pod.spec.node_name and pod.status.phase not in FINISHED and MIRROR not in pod.metadata.annotations
        now = (pod.spec.node_name, *requests_of(pod)) if counts else None
        if now == before:
            return ""
        self.drop(key)
        if now is not None:
            self._pods[key] = now
            self._shift(now, 1)
        return now[0] if now is not None else (before[0] if before is not None else "")

    def drop(self, key: str) -> str:
        known = self._pods.pop(key, None)
        if known is None:
            return ""
        self._shift(known, -1)
        return known[0]

    def of(self, node: SizedNode) -> NodeUse:
        cpu, memory = self._sums.get(node.metadata.name, NOTHING)
        capacity = node.status.capacity
        return NodeUse(
            node.metadata.name,
            _share(cpu, quantity.milli(capacity.get("cpu", 0))),
            _share(memory, quantity.units(capacity.get("memory", 0))),
            node.metadata.labels,
        )

    def _shift(self, entry: tuple[str, int, int], sign: int) -> None:
        node, cpu, memory = entry
        sums = self._sums.get(node, NOTHING)
        after = (sums[0] + sign * cpu, sums[1] + sign * memory)
        if after == NOTHING:
            self._sums.pop(node, None)
        else:
            self._sums[node] = after


def requests_of(pod: PlacedPod) -> tuple[int, int]:
    requests = [container.resources.requests for container in pod.spec.containers]
    cpu = sum(quantity.milli(one.get("cpu", 0)) for one in requests)
    return cpu, sum(quantity.units(one.get("memory", 0)) for one in requests)


def _share(asked: int, capacity: int) -> float:
    return min(asked / capacity, 1.0) if capacity > 0 else 0.0
