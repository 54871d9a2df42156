"""Arithmetic of load: what a pod will use before any monitor can see it, and how hot a node is with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano.api import quantity
from volcano.scheduler.cluster.nodes import Column

if TYPE_CHECKING:
    from volcano.api.core import Container, Pod


Floats = NDArray[np.float64]


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


def utilisation(measured_percent: Floats, estimated: Floats, capacity: Column) -> Floats:
    """0 to 1: the measured load and what was placed since, together."""
    offered = capacity > 0
    load = measured_percent / 100 + estimated / np.where(offered, capacity, 1)
    return np.where(offered, np.clip(load, 0.0, 1.0), 0.0)


def combined(cpu: Floats, memory: Floats, cpu_weight: int, memory_weight: int) -> Floats:
    """The weighted mean; 0 where neither counts."""
    total = cpu_weight + memory_weight
    return (cpu * cpu_weight + memory * memory_weight) / total if total else np.zeros_like(cpu)


def node_score(cpu: Floats, memory: Floats, cpu_weight: int, memory_weight: int, weight: int) -> Floats:
    """100 times the weight for an idle node, 0 for a busy one."""
    return combined(1 - cpu, 1 - memory, cpu_weight, memory_weight) * 100 * weight


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
    totals = [max(sum(part[position] for part in (*running, *sidecars)), peak[position]) for position in range(2)]
    cpu, memory = (total and total + extra for total, extra in zip(totals, overhead, strict=True))
    return cpu, memory


def _limits(container: Container) -> tuple[int, int]:
    return _amounts(container.resources.limits)


def _amounts(resources: Mapping[str, Any]) -> tuple[int, int]:
    return quantity.milli(resources.get("cpu", 0)), quantity.units(resources.get("memory", 0))
