"""Arithmetic of load: what a pod will use before any monitor can see it, and how hot a node is with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from volcano.api import quantity

if TYPE_CHECKING:
    from volcano.api.core import Container, Pod


class Estimator(msgspec.Struct, frozen=True):
    """How much of requests and limits pods really use; risky nodes are assumed to get somewhat more."""

    request_ratio: float = 0.7
    burst_ratio: float = 0.0
    risk_threshold: float = 0.6
    risk_factor: float = 1.2
    be_cpu: str | int = 250
    """Milli-CPU or a quantity: what a pod that asks for nothing uses."""
    be_mem: str | int = 200
    """MiB or a quantity."""


def utilisation(measured_percent: float, estimated: float, capacity: float) -> float:
    """0 to 1: the measured load and what was placed since, together."""
    if capacity <= 0:
        return 0.0
    return min(max(measured_percent / 100 + estimated / capacity, 0.0), 1.0)


def combined(cpu: float, memory: float, cpu_weight: int, memory_weight: int) -> float:
    total = cpu_weight + memory_weight
    return (cpu * cpu_weight + memory * memory_weight) / total if total else 0.0


def node_score(cpu: float, memory: float, cpu_weight: int, memory_weight: int, weight: int) -> float:
    """100 times the weight for an idle node, 0 for a busy one."""
    total = cpu_weight + memory_weight
    if total == 0:
        return 0.0
    return ((1 - cpu) * cpu_weight + (1 - memory) * memory_weight) / total * 100 * weight


def pod_estimate(request: float, limit: float, request_ratio: float, burst_ratio: float, factor: float) -> float:
    """Part of the request and part of what the limit allows beyond, never more than the limit."""
    ceiling = request if limit <= 0 or limit < request else limit
    return min(max((request * request_ratio + (ceiling - request) * burst_ratio) * factor, 0.0), ceiling)


def pod_limits(pod: Pod) -> tuple[int, int]:
    """Milli-CPU and bytes that the pod may use at most, counted like requests; 0 where nothing is said."""
    running = [_limits(container) for container in pod.spec.containers]
    sidecars: list[tuple[int, int]] = []
    peak = [0, 0]
    for container in pod.spec.init_containers:
        own = _limits(container)
        if container.restart_policy == "Always":
            sidecars.append(own)
        for position in range(2):
            beside = sum(sidecar[position] for sidecar in sidecars)
            already = own[position] if container.restart_policy == "Always" else 0
            peak[position] = max(peak[position], beside - already + own[position])
    overhead = _amounts(pod.spec.overhead)
    cpu, memory = (
        max(sum(part[position] for part in (*running, *sidecars)), peak[position]) + overhead[position]
        for position in range(2)
    )
    return cpu, memory


def _limits(container: Container) -> tuple[int, int]:
    return _amounts(container.resources.limits)


def _amounts(resources: Mapping[str, Any]) -> tuple[int, int]:
    return quantity.milli(resources.get("cpu", 0)), quantity.units(resources.get("memory", 0))
