"""Folders that look like the cgroups of a node's pods, as recorded on nodes of both versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from volcano.agent.cgroups import Hierarchy

V1 = {
    "cpu": {"cpu.shares": "2", "cpu.cfs_quota_us": "-1", "cpu.cfs_burst_us": "0", "cpu.qos_level": "0"},
    "cpuacct": {"cpuacct.usage": "0"},
    "memory": {
        "memory.limit_in_bytes": "9223372036854771712",
        "memory.stat": "cache 1\nrss 2\ntotal_cache 100\ntotal_rss 200\ntotal_swap 0\ntotal_inactive_file 40",
        "memory.qos_level": "0",
    },
}
V2 = {
    "cpu.weight": "1",
    "cpu.max": "max 100000",
    "cpu.max.burst": "0",
    "cpu.stat": "usage_usec 0\nuser_usec 0",
    "memory.max": "max",
    "memory.high": "max",
    "memory.low": "0",
    "memory.min": "0",
    "memory.current": "500",
    "memory.stat": "anon 200\nfile 300\ninactive_file 120",
}
SHARES = {"v1": V1["cpu"]["cpu.shares"], "v2": V2["cpu.weight"]}


def make(mount: Path, hierarchy: Hierarchy, *cgroups: str) -> None:
    """The files of these cgroups as they are when nobody has written to them."""
    for cgroup in cgroups:
        if hierarchy.version == "v2":
            (mount / "cgroup.controllers").write_text("cpu memory\n")
            fill(mount / cgroup, V2)
            continue
        for subsystem, files in V1.items():
            fill(mount / subsystem / cgroup, files)


def fill(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content + "\n")


def contents(mount: Path) -> dict[str, str]:
    return {str(path.relative_to(mount)): path.read_text().strip() for path in mount.rglob("*") if path.is_file()}


def use_cpu(mount: Path, hierarchy: Hierarchy, cgroup: str, nanoseconds: int) -> None:
    """As if the cgroup had used so much CPU since it was made."""
    if hierarchy.version == "v1":
        (mount / "cpuacct" / cgroup / "cpuacct.usage").write_text(f"{nanoseconds}\n")
    else:
        (mount / cgroup / "cpu.stat").write_text(f"usage_usec {nanoseconds // 1000}\n")
