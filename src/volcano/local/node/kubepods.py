"""Cgroups of pods laid out as the kubelet lays them out, of either version, for those who ask for it by a root.

`vc-agent` then finds pods of this node as it finds those of a cluster. Neighbour: `cgroups`, which is used otherwise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from volcano.agent.cgroups import Hierarchy, version_of
from volcano.agent.values import share_file, shares, weight
from volcano.api import quantity
from volcano.api.meta import JsonObject

MOUNT: Final = Path("/sys/fs/cgroup")
_CONTROLLERS: Final = ("cpu", "cpuacct", "cpuset", "memory", "pids")
_FILES_OF_V1: Final = {"memory.max": "memory.limit_in_bytes", "cpu.max": "cpu.cfs_quota_us"}


class Kubepods:
    """`root` is a path below the mount, as the kubelet's `--cgroup-root`. Raises OSError where none can be made."""

    def __init__(self, root: str, mount: Path = MOUNT) -> None:
        self._hierarchy = Hierarchy(mount, version_of(mount), "cgroupfs", root)
        self._mounts = [mount] if self._hierarchy.version == "v2" else _mounts_of_v1(mount)
        if not self._mounts:
            raise FileNotFoundError(f"{mount} has none of the controllers {', '.join(_CONTROLLERS)}")
        for folder in self._all(self._hierarchy.besteffort()):
            self._make(folder)
        least = {share_file(self._hierarchy.version): str(self._share(0))}
        self._write(self._all(self._hierarchy.besteffort()), least)

    def folders(self, pod: JsonObject, container: str) -> list[str]:
        meta, status = pod["metadata"], pod.get("status") or {}
        cgroup = self._hierarchy.pod(meta["uid"], status.get("qosClass", ""))
        return [str(folder) for folder in self._all(f"{cgroup}/{container}")]

    def create(
        self, pod: JsonObject, folders: Mapping[str, Sequence[str]], limits: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Make the cgroups of a pod's containers; a limit the kernel does not offer here is left out."""
        for container, own in folders.items():
            for folder in own:
                self._make(Path(folder))
            self._write([Path(folder) for folder in own], self._translated(limits.get(container, {})))
        pods = {Path(folder).parent for own in folders.values() for folder in own}
        self._write(sorted(pods), {share_file(self._hierarchy.version): str(self._share(requested_milli(pod)))})

    def remove(self, uid: str) -> None:
        """Remove a pod's cgroups; those still in use are left."""
        below = self._hierarchy.pods_root()
        for mount in self._mounts:
            for pod in (*(mount / below).glob(f"pod{uid}"), *(mount / below).glob(f"*/pod{uid}")):
                for folder in (*(entry for entry in pod.iterdir() if entry.is_dir()), pod):
                    with contextlib.suppress(OSError):
                        folder.rmdir()

    def _all(self, cgroup: str) -> list[Path]:
        return [mount / cgroup for mount in self._mounts]

    def _make(self, folder: Path) -> None:
        """With cgroup v2, each level passes on the controllers that it has."""
        if folder.is_dir():
            return
        if folder.parent not in self._mounts:
            self._make(folder.parent)
        if self._hierarchy.version == "v2":
            with contextlib.suppress(OSError):
                offered = (folder.parent / "cgroup.controllers").read_text().split()
                for controller in set(offered).intersection(_CONTROLLERS):
                    (folder.parent / "cgroup.subtree_control").write_text(f"+{controller}")
        folder.mkdir(exist_ok=True)
        if self._hierarchy.version == "v1":  # where nothing runs in a cgroup without CPUs
            for name in ("cpuset.cpus", "cpuset.mems"):
                with contextlib.suppress(OSError):  # other controllers have no such file
                    (folder / name).write_text((folder.parent / name).read_text())

    def _share(self, milli: int) -> int:
        return shares(milli) if self._hierarchy.version == "v1" else weight(milli)

    def _translated(self, files: Mapping[str, str]) -> dict[str, str]:
        if self._hierarchy.version == "v2":
            return dict(files)
        found = {_FILES_OF_V1[name]: text.split()[0] for name, text in files.items() if name in _FILES_OF_V1}
        if "cpu.weight" in files:
            found["cpu.shares"] = str(shares(int(files["cpu.weight"]) * 10))
        return found

    def _write(self, folders: Sequence[Path], files: Mapping[str, str]) -> None:
        for folder in folders:
            for name, text in files.items():
                with contextlib.suppress(OSError):
                    if (folder / name).exists():
                        (folder / name).write_text(text)


def requested_milli(pod: JsonObject) -> int:
    """CPU that the pod's containers ask for together."""
    each = [container.get("resources") or {} for container in pod["spec"]["containers"]]
    return sum(quantity.milli((one.get("requests") or {}).get("cpu", 0)) for one in each)


def _mounts_of_v1(mount: Path) -> list[Path]:
    """Of each controller; two of them may share one."""
    return list(dict.fromkeys((mount / name).resolve() for name in _CONTROLLERS if (mount / name).is_dir()))
