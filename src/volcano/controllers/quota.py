"""What a pod counts against quotas: the resources a PodGroup asks admission for.

Pure, on pod documents. Used by job/podgroup.py (templates) and podgroup/ (existing pods).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from volcano.api import quantity
from volcano.api.meta import JsonObject
from volcano.api.quantity import Quantity
from volcano.api.resource_names import is_extended

Amounts: TypeAlias = dict[str, Quantity]

_ONE = quantity.parse("1")
_PREFIXED_AND_PLAIN = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE_PAGES = "hugepages-"


def pod_usage(spec: JsonObject) -> Amounts:
    """Usage of a pod with this `spec`: requests and limits under their quota names, and the pod itself."""
    requests, limits = totals(spec, "requests"), totals(spec, "limits")
    usage: Amounts = {"pods": _ONE, "count/pods": _ONE}
    for name, amount in requests.items():
        if name in _PREFIXED_AND_PLAIN or name.startswith(_HUGE_PAGES) or is_extended(name):
            usage[name] = amount
            usage[f"requests.{name}"] = amount
    for name, amount in limits.items():
        if name in _PREFIXED_AND_PLAIN:
            usage[f"limits.{name}"] = amount
    return usage


def totals(spec: JsonObject, kind: str) -> Amounts:
    """A pod's `requests` or `limits`: its containers together, or its largest init step if that is more."""
    running = _sum(_declared(container, kind) for container in spec.get("containers") or [])
    started: Amounts = {}
    largest: Amounts = {}
    for container in spec.get("initContainers") or []:
        own = _declared(container, kind)
        if container.get("restartPolicy") == "Always":  # a sidecar: stays beside all that comes later
            running, started = _sum((running, own)), _sum((started, own))
            largest = _larger(largest, started)
        else:
            largest = _larger(largest, _sum((own, started)))
    total = _larger(running, largest)
    overhead = spec.get("overhead") or {}
    if overhead and (kind == "requests" or total):
        total = _sum((total, {name: quantity.parse(amount) for name, amount in overhead.items()}))
    return total


def scaled(usage: Mapping[str, Quantity], count: int) -> Amounts:
    return {name: amount * count for name, amount in usage.items()}


def added(first: Mapping[str, Quantity], second: Mapping[str, Quantity]) -> Amounts:
    return _sum((first, second))


def written(usage: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in sorted(usage.items())}


def _declared(container: JsonObject, kind: str) -> Amounts:
    amounts = (container.get("resources") or {}).get(kind) or {}
    return {name: quantity.parse(amount) for name, amount in amounts.items()}


def _sum(parts: Iterable[Mapping[str, Quantity]]) -> Amounts:
    return _fold(parts, lambda first, second: first + second)


def _larger(first: Mapping[str, Quantity], second: Mapping[str, Quantity]) -> Amounts:
    return _fold((first, second), max)


def _fold(parts: Iterable[Mapping[str, Quantity]], combine: Callable[[Quantity, Quantity], Quantity]) -> Amounts:
    result: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            result[name] = combine(result[name], amount) if name in result else amount
    return result
