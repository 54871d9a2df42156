"""Resource limits by cgroup v2, where this user may make cgroups; without them limits are promises, not walls.

Neighbours: `runtime` makes a cgroup per container; the supervisor moves containers in, and kills what is left there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from volcano.api import quantity
from volcano.api.meta import JsonObject

CONTROLLERS = ("cpu", "memory", "pids")
_PERIOD_MICROSECONDS = 100_000
_LOWEST_QUOTA_MICROSECONDS = 1000
_HIGHEST_WEIGHT = 10_000


def limits_of(container: JsonObject) -> dict[str, str]:
    """What to write into the cgroup's files for a container's resources. Pure."""
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    files: dict[str, str] = {}
    if "memory" in limits:
        files |= {"memory.max": str(quantity.units(limits["memory"])), "memory.oom.group": "1"}
    if "cpu" in limits:
        quota = max(_LOWEST_QUOTA_MICROSECONDS, quantity.milli(limits["cpu"]) * _PERIOD_MICROSECONDS // 1000)
        files["cpu.max"] = f"{quota} {_PERIOD_MICROSECONDS}"
    if "cpu" in requests:
        files["cpu.weight"] = str(min(_HIGHEST_WEIGHT, max(1, quantity.milli(requests["cpu"]) // 10)))
    return files


class Cgroups:
    """A folder of the cgroup file system that is ours, with a folder per pod and container."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folders(self, pod: JsonObject, container: str) -> list[str]:
        return [str(self.root / pod["metadata"]["uid"] / container)]

    def create(
        self, pod: JsonObject, folders: Mapping[str, Sequence[str]], limits: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Make the pod's cgroups; a limit the kernel does not offer here is left out."""
        root = self.root / pod["metadata"]["uid"]
        root.mkdir(exist_ok=True)
        _enable(root)
        for container, own in folders.items():
            for folder in map(Path, own):
                folder.mkdir(exist_ok=True)
                for name, value in limits.get(container, {}).items():
                    with contextlib.suppress(OSError):
                        (folder / name).write_text(value)

    def remove(self, uid: str) -> None:
        """Remove the pod's cgroups; those still in use are left."""
        pod = self.root / uid
        if not pod.exists():
            return
        for folder in (*(entry for entry in pod.iterdir() if entry.is_dir()), pod):
            with contextlib.suppress(OSError):
                folder.rmdir()


def find(data_dir: Path) -> Cgroups | None:
    """A place for cgroups of the node with this data folder, if this user may have one with a memory controller."""
    mount = _mount_point(Path("/proc/self/mountinfo"))
    own = _own_path(Path("/proc/self/cgroup"))
    if mount is None or own is None:
        return None
    name = "volcano-" + hashlib.blake2b(str(data_dir).encode(), digest_size=4).hexdigest()
    here = mount / own.lstrip("/")
    for parent in dict.fromkeys((here.parent, here, mount)):
        if parent.is_relative_to(mount) and (found := claim(parent, name)) is not None:
            return found
    return None


def claim(parent: Path, name: str) -> Cgroups | None:
    """Make the folder `name` below `parent`; None when that is not allowed or would limit nothing."""
    if not os.access(parent / "cgroup.procs", os.W_OK):
        return None
    root = parent / name
    with contextlib.suppress(OSError):
        root.mkdir(exist_ok=True)
        if "memory" in (root / "cgroup.controllers").read_text().split():
            _enable(root)
            return Cgroups(root)
    with contextlib.suppress(OSError):
        root.rmdir()
    return None


def _enable(folder: Path) -> None:
    """Let the folder's children have the controllers it has itself."""
    with contextlib.suppress(OSError):
        available = (folder / "cgroup.controllers").read_text().split()
        for controller in CONTROLLERS:
            if controller in available:
                (folder / "cgroup.subtree_control").write_text(f"+{controller}")


def _mount_point(mountinfo: Path) -> Path | None:
    if not mountinfo.exists():
        return None
    for line in mountinfo.read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.split(" ", 1)[0] == "cgroup2":
            return Path(before.split(" ")[4])
    return None


def _own_path(cgroup: Path) -> str | None:
    if not cgroup.exists():
        return None
    return next((line[3:] for line in cgroup.read_text().splitlines() if line.startswith("0::")), None)
