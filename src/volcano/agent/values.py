"""What is written into the cgroup files of a pod and its containers. Pure; a `cgroups.Hierarchy` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from volcano.agent.qos import BatchNames
from volcano.api import keys, quantity

if TYPE_CHECKING:
    from volcano.api.core.pods import Container, Pod

Version = Literal["v1", "v2"]
Files = dict[str, str]

PERIOD: Final = 100_000
_LEAST_QUOTA: Final = 1000
_LEAST_SHARES: Final = 2
_MOST_SHARES: Final = 262_144
_MOST_WEIGHT: Final = 10_000
UNLIMITED_QUOTA: Final = -1


@dataclass(slots=True)
class PodFiles:
    """File contents by name: the pod's own, and those of each container."""

    pod: Files = field(default_factory=dict)
    containers: dict[str, Files] = field(default_factory=dict)


class MemoryRatios(msgspec.Struct, rename="camel", frozen=True):
    """Percentages of a container's limit and request."""

    high_ratio: int = 100
    low_ratio: int = 0
    min_ratio: int = 0


class _PodSettings(msgspec.Struct, rename="camel", frozen=True):
    memory_qos: MemoryRatios | None = None


def resources(pod: Pod, names: BatchNames, version: Version) -> PodFiles:
    """The limits that batch resources stand for; nothing for a pod that asks for none."""
    found = PodFiles()
    containers = [one for one in pod.spec.containers if names.named_by(one)]
    if not containers:
        return found
    requests = {one.name: names.read(one.resources.requests) for one in containers}
    limits = {one.name: names.read(one.resources.limits) for one in containers}
    for name, request in requests.items():
        found.containers[name] = {
            **_share(request.cpu, version),
            **_quota(limits[name].cpu, version),
            **_memory(limits[name].memory, version),
        }
    found.pod = _share(sum(one.cpu for one in requests.values()), version)
    all_named = len(containers) == len(pod.spec.containers)
    for write, values in (
        (_quota, [one.cpu for one in limits.values()]),
        (_memory, [one.memory for one in limits.values()]),
    ):
        bounded = all_named and all(values)
        found.pod |= write(sum(values) if bounded else 0, version)
    return found


def cpu_qos(level: int) -> Files:
    return {"cpu.qos_level": str(level)}


def cpu_idle(level: int) -> Files:
    """What kernels offer that have no `cpu.qos_level`: batch pods run when nothing else wants to."""
    return {"cpu.idle": "1" if level < 0 else "0"}


def memory_qos(level: int) -> Files:
    return {"memory.qos_level": "-1" if level < 0 else "0"}


def memory_ratios(annotations: Mapping[str, str]) -> MemoryRatios | None:
    """The ratios a pod's annotation asks for; None without the annotation. Raises ValueError for a bad one."""
    text = annotations.get(keys.COLOCATION_CONFIG)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=_PodSettings).memory_qos or MemoryRatios()
    except (msgspec.DecodeError, RecursionError) as problem:
        raise ValueError(f"annotation {keys.COLOCATION_CONFIG}: {problem}") from problem


def memory_protection(container: Container, ratios: MemoryRatios, names: BatchNames, *, batch: bool) -> Files:
    """Reclaim thresholds of cgroup v2; for `batch` pods, spare memory counts where it is asked for."""
    request, limit = (
        names.read(amounts).memory if batch and names.memory in amounts else quantity.units(amounts.get("memory", 0))
        for amounts in (container.resources.requests, container.resources.limits)
    )
    high = "max" if not limit or ratios.high_ratio >= 100 else str(limit * ratios.high_ratio // 100)
    return {
        "memory.high": high,
        "memory.low": str(request * ratios.low_ratio // 100),
        "memory.min": str(request * ratios.min_ratio // 100),
    }


def wants_burst(annotations: Mapping[str, str]) -> bool:
    return annotations.get(keys.QUOTA_BURST, "").lower() == "true"


def burst(quota: int, annotations: Mapping[str, str]) -> int:
    """Microseconds a container may save up: as many as asked for, but no more than its quota; 0 without a quota."""
    text = annotations.get(keys.QUOTA_BURST_TIME, "")
    asked = int(text) if text.isdigit() else 0
    return min(asked or quota, quota) if quota > 0 else 0


def read_quota(text: str) -> int:
    """The quota in `cpu.max` or `cpu.cfs_quota_us`; -1 is no limit."""
    first = text.split(maxsplit=1)[0] if text.split() else "max"
    return UNLIMITED_QUOTA if first == "max" else int(first)


def throttle(milli: int | None, version: Version) -> Files:
    """The limit of all best effort pods; None lifts it."""
    quota = UNLIMITED_QUOTA if milli is None else max(_LEAST_QUOTA, milli * PERIOD // 1000)
    if version == "v1":
        return {"cpu.cfs_quota_us": str(quota)}
    return {"cpu.max": f"{'max' if milli is None else quota} {PERIOD}"}


def shares(milli: int) -> int:
    return min(_MOST_SHARES, max(_LEAST_SHARES, milli * 1024 // 1000))


def weight(milli: int) -> int:
    """The weight of cgroup v2, as the kubelet makes it of shares."""
    return 1 + (shares(milli) - _LEAST_SHARES) * (_MOST_WEIGHT - 1) // (_MOST_SHARES - _LEAST_SHARES)


def share_of(pod: Pod, version: Version) -> Files:
    """What the kubelet gives the pod for the CPU that it asks for by Kubernetes' own name."""
    each = (quantity.milli(one.resources.requests.get("cpu", 0)) for one in pod.spec.containers)
    return _share(sum(each), version)


def share_file(version: Version) -> str:
    return "cpu.shares" if version == "v1" else "cpu.weight"


def _share(milli: int, version: Version) -> Files:
    return {share_file(version): str(shares(milli) if version == "v1" else weight(milli))}


def _quota(milli: int, version: Version) -> Files:
    return throttle(milli or None, version)


def _memory(limit: int, version: Version) -> Files:
    if version == "v1":
        return {"memory.limit_in_bytes": str(limit or -1)}
    return {"memory.max": str(limit or "max")}
