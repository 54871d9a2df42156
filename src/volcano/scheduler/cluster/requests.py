"""How much a pod asks for: containers, init containers, sidecars, pod-level resources, overhead, in-place resize."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from volcano.scheduler.cluster.resources import CPU, MEMORY, PODS, Dimensions

if TYPE_CHECKING:
    from volcano.api.core import Container, ContainerStatus, Pod

Amounts = dict[int, int]

DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024


def pod_request(pod: Pod, dimensions: Dimensions) -> Amounts:
    """What the pod occupies while it runs, the peak of its init containers included; always one of `pods`."""
    total = _containers_total(pod, dimensions, fill_missing=False)
    total[PODS] = 1
    return total


def nonzero_request(pod: Pod, dimensions: Dimensions) -> tuple[int, int]:
    """Milli-CPU and bytes for scoring: a container that asks for none counts as 100m and 200 MiB."""
    total = _containers_total(pod, dimensions, fill_missing=True)
    return total.get(CPU, 0), total.get(MEMORY, 0)


def _containers_total(pod: Pod, dimensions: Dimensions, *, fill_missing: bool) -> Amounts:
    spec = pod.spec
    total: Amounts = {}
    statuses = {status.name: status for status in pod.status.container_statuses if status.resources is not None}
    refused = bool(statuses) and _resize_is_infeasible(pod)
    for container in spec.containers:
        status = statuses.get(container.name)
        amounts = _container_amounts(container, status, dimensions, fill_missing)
        _add(total, _status_amounts(status, dimensions) if refused and status is not None else amounts)
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        amounts = _container_amounts(container, None, dimensions, fill_missing)
        if container.restart_policy == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            amounts = dict(sidecars)
        else:
            _add(amounts, sidecars)
        _raise_to(peak, amounts)
    _raise_to(total, peak)
    if spec.resources is not None:
        total.update(dimensions.amounts(spec.resources.requests))
    _add(total, dimensions.amounts(spec.overhead))
    return total


def _container_amounts(
    container: Container, status: ContainerStatus | None, dimensions: Dimensions, fill_missing: bool
) -> Amounts:
    amounts = dimensions.amounts(container.resources.requests)
    if amounts and min(amounts.values()) < 0:  # no API server lets that through; nobody has room to give away
        amounts = {dimension: max(amount, 0) for dimension, amount in amounts.items()}
    if status is not None and status.resources is not None:
        _raise_to(amounts, _status_amounts(status, dimensions))
    if fill_missing:
        amounts.setdefault(CPU, DEFAULT_MILLI_CPU)
        amounts.setdefault(MEMORY, DEFAULT_MEMORY_BYTES)
    return amounts


def _status_amounts(status: ContainerStatus, dimensions: Dimensions) -> Amounts:
    """What the node has given the container so far."""
    amounts = dimensions.amounts(status.resources.requests if status.resources is not None else None)
    _raise_to(amounts, dimensions.amounts(status.allocated_resources))
    return amounts


def _resize_is_infeasible(pod: Pod) -> bool:
    """The node will never grant what the spec asks for now: what it has granted counts."""
    return any(
        condition.type == "PodResizePending" and condition.reason == "Infeasible" for condition in pod.status.conditions
    )


def _add(target: Amounts, other: Mapping[int, int]) -> None:
    for dimension, amount in other.items():
        target[dimension] = target.get(dimension, 0) + amount


def _raise_to(target: Amounts, other: Mapping[int, int]) -> None:
    for dimension, amount in other.items():
        target[dimension] = max(target.get(dimension, amount), amount)


def host_ports(pod: Pod) -> Iterator[tuple[str, str, int]]:
    """(ip, protocol, port) that the pod takes on its node."""
    sidecars = [container for container in pod.spec.init_containers if container.restart_policy == "Always"]
    for container in [*pod.spec.containers, *sidecars]:
        for port in container.ports:
            if port.host_port > 0:
                yield (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)
