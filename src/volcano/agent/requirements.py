"""What a kernel must offer for a feature, and the sentence that says what this one lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from volcano.agent.cgroups import Hierarchy
from volcano.agent.values import Version

_FILES: Final[dict[str, dict[Version, tuple[str, ...]]]] = {
    "Resources": {"v1": ("cpu.cfs_quota_us",), "v2": ("cpu.max",)},
    "CPUThrottle": {"v1": ("cpu.cfs_quota_us",), "v2": ("cpu.max",)},
    "CPUBurst": {"v1": ("cpu.cfs_burst_us",), "v2": ("cpu.max.burst",)},
    "CPUQoS": {"v1": ("cpu.qos_level", "cpu.idle"), "v2": ("cpu.qos_level", "cpu.idle")},
    "MemoryQoS": {"v1": ("memory.qos_level",), "v2": ()},
    "MemoryQoSV2": {"v1": (), "v2": ("memory.high",)},
}
"""Of these files one is enough; none of them: the feature is of the other version of cgroups."""
_OTHER: Final = {"MemoryQoS": "MemoryQoSV2", "MemoryQoSV2": "MemoryQoS"}


def lacking(hierarchy: Hierarchy, features: Collection[str]) -> Iterator[str]:
    """A sentence for each feature that can have no effect on this node."""
    cgroup = hierarchy.besteffort()
    folder = hierarchy.file(cgroup, "cpu.").parent
    if not folder.is_dir():
        yield f"no pods are in {folder}: check SYS_FS_PATH, CGROUP_DRIVER and --kube-cgroup-root"
        return
    for feature in sorted(_FILES.keys() & features):
        names = _FILES[feature][hierarchy.version]
        if not names:
            yield f"{feature} has no effect on this node: it has cgroup {hierarchy.version}, enable {_OTHER[feature]}"
        elif not any(hierarchy.file(cgroup, name).exists() for name in names):
            yield (
                f"{feature} has no effect on this node: its kernel offers no {' and no '.join(names)}"
                f" in {hierarchy.file(cgroup, names[0]).parent}"
            )
