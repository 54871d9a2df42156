"""Whether a bound pod may run here: enough room left for its requests. Pure.

Neighbours: `agent` asks before it plans a pod; the answer becomes the pod's Failed status, as a kubelet does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from volcano.api import quantity
from volcano.api.meta import JsonObject

Requests = Counter[str]
"""Amounts by resource name, in thousandths (so that CPU is in milli-CPU), exact."""


@dataclass(frozen=True)
class Rejection:
    reason: str
    message: str


def requests_of(pod: JsonObject) -> Requests:
    """What the pod asks of a node: its containers together, or its largest init step, plus overhead."""
    spec = pod["spec"]
    running, peak = Requests(), Requests()
    for container in spec.get("containers") or []:
        running += _requests(container)
    sidecars = Requests()
    for container in spec.get("initContainers") or []:
        amounts = _requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars += amounts
            peak |= sidecars
        else:
            peak |= sidecars + amounts
    overhead = Requests({name: quantity.milli(amount) for name, amount in (spec.get("overhead") or {}).items()})
    return ((running + sidecars) | peak) + overhead + Requests({"pods": 1000})


def _requests(container: JsonObject) -> Requests:
    resources = container.get("resources") or {}
    amounts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return Requests({name: quantity.milli(amount) for name, amount in amounts.items()})


def admit(pod: JsonObject, active: Iterable[Requests], allocatable: Mapping[str, str]) -> Rejection | None:
    """None when `pod` fits beside the pods already `active`, else the reason it is refused.

    What others offer on this node, as the node agent does, the node does not count.
    """
    wanted = requests_of(pod)
    used = Requests()
    for amounts in active:
        used += amounts
    for name, amount in sorted(wanted.items()):
        if "/" in name and name not in allocatable:
            continue
        capacity = quantity.milli(allocatable.get(name, "0"))
        if used[name] + amount > capacity:
            return Rejection(
                f"OutOf{name}",
                f"Node didn't have enough resource: {name}, requested: {_shown(name, amount)}, "
                f"used: {_shown(name, used[name])}, capacity: {_shown(name, capacity)}",
            )
    return None


def _shown(name: str, thousandths: int) -> int:
    return thousandths if name == "cpu" else thousandths // 1000
