"""What jobs and queues hold and use of a cluster, from its pods. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from volcano.api import keys, quantity
from volcano.controllers.quota import totals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from volcano.api.meta import JsonObject

Key = tuple[str, str]

CPU, MEMORY = "cpu", "memory"
_ENDED = frozenset({"Succeeded", "Failed"})


@dataclass
class Holding:
    """Pods by phase, and those without a node; CPU and memory that the bound ones have reserved, and that they really

    use where it is known.
    """

    pods: Counter[str] = field(default_factory=Counter)
    unplaced: int = 0
    milli_cpu: int = 0
    memory_bytes: int = 0
    used_milli_cpu: int | None = None
    used_memory_bytes: int | None = None

    def take(self, pod: JsonObject, used: tuple[int, int] | None) -> None:
        """Add a pod."""
        phase = (pod.get("status") or {}).get("phase", "Pending")
        self.pods[phase] += 1
        if phase not in _ENDED and (pod.get("spec") or {}).get("nodeName"):
            milli_cpu, memory_bytes = reserved(pod)
            self.milli_cpu += milli_cpu
            self.memory_bytes += memory_bytes
        elif phase not in _ENDED:
            self.unplaced += 1
        if used is not None:
            self.used_milli_cpu = (self.used_milli_cpu or 0) + used[0]
            self.used_memory_bytes = (self.used_memory_bytes or 0) + used[1]


def reserved(pod: JsonObject) -> tuple[int, int]:
    """Milli-CPU and bytes that the pod asks for."""
    amounts = totals(pod.get("spec") or {}, "requests")
    nothing = quantity.parse(0)
    return quantity.milli(amounts.get(CPU, nothing)), quantity.units(amounts.get(MEMORY, nothing))


def by_job(pods: Iterable[JsonObject], used: Mapping[Key, tuple[int, int]]) -> dict[Key, Holding]:
    """By namespace and name of the job. `used` by namespace and name of the pod."""
    holdings: dict[Key, Holding] = {}
    for pod in pods:
        metadata = pod["metadata"]
        name = (metadata.get("labels") or {}).get(keys.JOB_NAME)
        if name:
            place = (metadata.get("namespace", ""), metadata["name"])
            holdings.setdefault((place[0], name), Holding()).take(pod, used.get(place))
    return holdings


def used_by_pods(metrics: Iterable[JsonObject]) -> dict[Key, tuple[int, int]]:
    """Milli-CPU and bytes by namespace and name of the pod, from the PodMetrics of the cluster."""
    found = {}
    for each in metrics:
        usages = [container.get("usage") or {} for container in each.get("containers") or ()]
        place = (each["metadata"].get("namespace", ""), each["metadata"]["name"])
        found[place] = (
            sum(quantity.milli(usage.get(CPU, 0)) for usage in usages),
            sum(quantity.units(usage.get(MEMORY, 0)) for usage in usages),
        )
    return found
