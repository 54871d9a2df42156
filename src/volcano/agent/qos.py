"""How important a pod is on its node, and what it asks for of the node's spare resources. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from volcano.api import keys, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from volcano.api.core.pods import Container, Pod
    from volcano.api.meta import ResourceList

ResourceName = Literal["cpu", "memory"]
RESOURCES: Final[tuple[ResourceName, ...]] = ("cpu", "memory")

LEVELS: Final = {"LC": 2, "HLS": 2, "LS": 1, "BE": -1}
_CRITICAL_CLASSES: Final = frozenset({"system-cluster-critical", "system-node-critical"})


@dataclass(frozen=True, slots=True)
class Amount:
    """CPU in thousandths of a core, memory in bytes."""

    cpu: int = 0
    memory: int = 0

    def of(self, resource: ResourceName) -> int:
        return self.cpu if resource == "cpu" else self.memory


@dataclass(frozen=True, slots=True)
class BatchNames:
    """The extended resources by which spare CPU (milli) and memory (bytes) are offered."""

    cpu: str = "kubernetes.io/batch-cpu"
    memory: str = "kubernetes.io/batch-memory"

    def read(self, amounts: ResourceList) -> Amount:
        return Amount(_units(amounts, self.cpu), _units(amounts, self.memory))

    def named_by(self, container: Container) -> bool:
        return any(
            name in amounts
            for name in (self.cpu, self.memory)
            for amounts in (container.resources.requests, container.resources.limits)
        )


def level(annotations: Mapping[str, str]) -> int:
    return LEVELS.get(annotations.get(keys.QOS_LEVEL, ""), 0)


def offline(pod: Pod) -> bool:
    """Whether the pod is batch work that gives way."""
    return level(pod.metadata.annotations) < 0


def critical(pod: Pod) -> bool:
    return pod.spec.priority_class_name in _CRITICAL_CLASSES


def ready(pod: Pod) -> bool:
    """Whether the pod runs and stays: its cgroups exist and are worth writing to."""
    if pod.metadata.deletion_timestamp is not None:
        return False
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)


def requested(pod: Pod, names: BatchNames) -> Amount:
    """What the pod's containers ask for of the spare resources, together."""
    each = [names.read(container.resources.requests) for container in pod.spec.containers]
    return Amount(sum(one.cpu for one in each), sum(one.memory for one in each))


def allocatable(amounts: ResourceList) -> Amount:
    return Amount(quantity.milli(amounts.get("cpu", 0)), quantity.units(amounts.get("memory", 0)))


def _units(amounts: ResourceList, name: str) -> int:
    return quantity.units(amounts.get(name, 0))
