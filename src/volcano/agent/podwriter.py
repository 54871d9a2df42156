"""Writes into the cgroups of one pod what `values` says, for the features in force."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from volcano.agent import qos, values
from volcano.agent.cgroups import CgroupError, Hierarchy
from volcano.agent.qos import BatchNames
from volcano.api.core.pods import Pod

_MOST_IMPORTANT_BATCH: Final = 1
"""Levels above are not limited by batch resources."""


def write(pod: Pod, hierarchy: Hierarchy, names: BatchNames, features: Collection[str]) -> None:
    """Raises `CgroupError` for a file that cannot be written, ValueError for an annotation that cannot be read."""
    cgroup = hierarchy.pod(pod.metadata.uid, pod.status.qos_class)
    containers = {
        one.name: hierarchy.container(cgroup, one.container_id)
        for one in pod.status.container_statuses
        if one.container_id
    }
    level = qos.level(pod.metadata.annotations)
    idle = False
    if "CPUQoS" in features:
        if hierarchy.read(cgroup, "cpu.qos_level") is None:
            idle = _yield_cpu(cgroup, hierarchy, level)
        else:
            hierarchy.write_tree(cgroup, values.cpu_qos(level))
    if "MemoryQoS" in features and hierarchy.version == "v1":
        hierarchy.write_tree(cgroup, values.memory_qos(level))
    if "Resources" in features and level <= _MOST_IMPORTANT_BATCH:
        _limit(pod, cgroup, containers, hierarchy, names, idle=idle)
    if "CPUBurst" in features and values.wants_burst(pod.metadata.annotations):
        _burst(pod, cgroup, containers, hierarchy)
    if "MemoryQoSV2" in features and hierarchy.version == "v2":
        _protect_memory(pod, containers, hierarchy, names, batch=level <= _MOST_IMPORTANT_BATCH)


def clear(pod: Pod, hierarchy: Hierarchy) -> None:
    """Put back what nobody but an agent writes: the levels, and that the pod is idle."""
    cgroup = hierarchy.pod(pod.metadata.uid, pod.status.qos_class)
    if hierarchy.read(cgroup, "cpu.idle") == "1":
        hierarchy.correct(cgroup, {**values.cpu_idle(0), **values.share_of(pod, hierarchy.version)})
    hierarchy.correct_tree(cgroup, {**values.cpu_qos(0), **values.memory_qos(0)})


def _limit(
    pod: Pod, cgroup: str, containers: dict[str, str], hierarchy: Hierarchy, names: BatchNames, *, idle: bool
) -> None:
    """The pod's own files are written even if a container's cannot be: v1 wants a larger limit there first."""
    found = values.resources(pod, names, hierarchy.version)
    if idle:
        found.pod.pop(values.share_file(hierarchy.version), None)
    problems: list[CgroupError] = []
    for place, files in (*((containers.get(name), own) for name, own in found.containers.items()), (cgroup, found.pod)):
        try:
            if place is not None:
                hierarchy.write(place, files)
        except CgroupError as problem:
            problems.append(problem)
    if problems:
        raise problems[0]


def _yield_cpu(cgroup: str, hierarchy: Hierarchy, level: int) -> bool:
    """Whether the pod is idle then. The kernel takes no share from an idle cgroup, and forgets the one it had."""
    if hierarchy.read(cgroup, "cpu.idle") is None:
        return False
    if level < 0:
        hierarchy.remember(cgroup, values.share_file(hierarchy.version))
        hierarchy.write(cgroup, values.cpu_idle(level))
        return True
    for problem in hierarchy.restore(cgroup) if hierarchy.read(cgroup, "cpu.idle") == "1" else []:
        raise problem
    return False


def _burst(pod: Pod, cgroup: str, containers: dict[str, str], hierarchy: Hierarchy) -> None:
    quota, burst = (
        ("cpu.cfs_quota_us", "cpu.cfs_burst_us") if hierarchy.version == "v1" else ("cpu.max", "cpu.max.burst")
    )
    total = 0
    bounded = values.read_quota(hierarchy.read(cgroup, quota) or "") > 0
    wanted = {}
    for container in containers.values():
        found = values.burst(values.read_quota(hierarchy.read(container, quota) or ""), pod.metadata.annotations)
        if found:
            wanted[container] = found
            total += found
    if bounded and total:
        hierarchy.write(cgroup, {burst: str(total)})
    for container, microseconds in wanted.items():
        hierarchy.write(container, {burst: str(microseconds)})


def _protect_memory(
    pod: Pod, containers: dict[str, str], hierarchy: Hierarchy, names: BatchNames, *, batch: bool
) -> None:
    ratios = values.memory_ratios(pod.metadata.annotations)
    if ratios is None:
        return
    for container in pod.spec.containers:
        if container.name in containers:
            hierarchy.write(containers[container.name], values.memory_protection(container, ratios, names, batch=batch))
