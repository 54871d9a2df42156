"""The cgroups of a node's pods: where the kubelet makes them, what they used, and writes that can be taken back.

`values` decides what is written; works on any folder, so also on a recorded tree.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

from volcano.agent.values import Files, Version

Driver = Literal["systemd", "cgroupfs"]
DRIVERS: Final[tuple[Driver, ...]] = ("systemd", "cgroupfs")

_SUBSYSTEMS: Final = ("cpu", "memory")
_SCOPES: Final = {"containerd": "cri-containerd", "docker": "docker", "cri-o": "crio"}
_GONE: Final = (errno.ENOENT, errno.ENODEV)


class CgroupError(OSError):
    """A cgroup file exists and cannot be read or written; the message names it."""


class Hierarchy:
    """The cgroups below the kubelet's root. It remembers what it found before the first write, for `restore`.

    `noted` is told so, file by file: what it said before it is written, None once that is put back.
    """

    def __init__(
        self,
        mount: Path,
        version: Version,
        driver: Driver,
        kubelet_root: str = "",
        noted: Callable[[Path, str | None], None] = lambda _path, _text: None,
    ) -> None:
        self.version = version
        self._noted = noted
        self._mount = mount
        self._driver = driver
        self._root = [part for part in kubelet_root.split("/") if part] + ["kubepods"]
        self._found: dict[Path, str] = {}

    # Names

    def pods_root(self) -> str:
        return self._path(self._root)

    def besteffort(self) -> str:
        return self._path([*self._root, "besteffort"])

    def pod(self, uid: str, qos_class: str) -> str:
        tier = [] if qos_class in ("", "Guaranteed") else [qos_class.lower()]
        return self._path([*self._root, *tier, f"pod{uid}"])

    def container(self, pod: str, container_id: str) -> str:
        """The cgroup of a container with an id such as `containerd://0123`."""
        runtime, _, identity = container_id.rpartition("://")
        if runtime == "process":  # local mode's: all runs of a container share one
            return f"{pod}/{identity.split('/')[1]}"
        scope = _SCOPES.get(runtime)
        name = f"{scope}-{identity}.scope" if self._driver == "systemd" and scope else identity
        return f"{pod}/{name}"

    def _path(self, parts: list[str]) -> str:
        if self._driver == "cgroupfs":
            return "/".join(parts)
        escaped = [part.replace("-", "_") for part in parts]
        return "/".join("-".join(escaped[: depth + 1]) + ".slice" for depth in range(len(escaped)))

    # Files

    def file(self, cgroup: str, name: str) -> Path:
        if self.version == "v2":
            return self._mount / cgroup / name
        return self._mount / name.partition(".")[0] / cgroup / name

    def read(self, cgroup: str, name: str) -> str | None:
        """What a file says; None where there is none."""
        return _read(self.file(cgroup, name))

    def write(self, cgroup: str, files: Files) -> None:
        """Write what differs. Files that the kernel does not offer are left out."""
        for name, value in files.items():
            self._write(self.file(cgroup, name), value)

    def correct(self, cgroup: str, files: Files) -> None:
        """Write what is to stay, whatever was found."""
        for name, value in files.items():
            _correct(self.file(cgroup, name), value)

    def correct_tree(self, cgroup: str, files: Files) -> None:
        """The same for a cgroup and all below it."""
        for name, value in files.items():
            for folder in self._tree(self.file(cgroup, name).parent):
                _correct(folder / name, value)

    def write_tree(self, cgroup: str, files: Files) -> None:
        """Write to a cgroup and all below it."""
        for name, value in files.items():
            for folder in self._tree(self.file(cgroup, name).parent):
                self._write(folder / name, value)

    def remember(self, cgroup: str, name: str) -> None:
        """Have a file restored that the kernel changes by itself when another one is written."""
        path = self.file(cgroup, name)
        text = self.read(cgroup, name)
        if text is not None:
            self._note(path, text)

    def restore(self, cgroup: str | None = None) -> list[CgroupError]:
        """Put back what was found, in all cgroups or below one, newest write first; says what could not be."""
        problems = []
        for path in reversed(list(self._found) if cgroup is None else self._below(cgroup)):
            value = self._found[path]
            try:
                _correct(path, value)
            except CgroupError as problem:
                problems.append(problem)
            else:
                self._drop(path)
        return problems

    def forget(self, cgroup: str) -> None:
        """The cgroup of a pod that ended need not be restored."""
        for path in self._below(cgroup):
            self._drop(path)

    def _below(self, cgroup: str) -> list[Path]:
        folders = {self.file(cgroup, f"{subsystem}.").parent for subsystem in _SUBSYSTEMS}
        return [path for path in self._found if any(path.is_relative_to(folder) for folder in folders)]

    def _write(self, path: Path, value: str) -> None:
        before = _differs(path, value)
        if before is not None:
            self._note(path, before)
            _put(path, value)

    def _note(self, path: Path, before: str) -> None:
        if path not in self._found:
            self._found[path] = before
            self._noted(path, before)

    def _drop(self, path: Path) -> None:
        del self._found[path]
        self._noted(path, None)

    def _tree(self, folder: Path) -> Iterator[Path]:
        yield folder
        with contextlib.suppress(FileNotFoundError):
            for entry in sorted(folder.iterdir()):
                if entry.is_dir():
                    yield from self._tree(entry)

    def cpus(self, cgroup: str) -> int:
        """How many CPUs it may run on; 0 where nobody has said so."""
        names = ("cpuset.cpus", "cpuset.cpus.effective")
        return next((count for name in names if (count := _count(self.read(cgroup, name) or ""))), 0)

    # Usage

    def cpu_nanoseconds(self, cgroup: str) -> int | None:
        """CPU time used so far."""
        if self.version == "v1":
            total = self.read(cgroup, "cpuacct.usage")
            return None if total is None else int(total)
        used = _fields(self.read(cgroup, "cpu.stat")).get("usage_usec")
        return None if used is None else used * 1000

    def memory_bytes(self, cgroup: str) -> int | None:
        """Memory in use, without the file cache that the kernel would give up first."""
        statistics = _fields(self.read(cgroup, "memory.stat"))
        if self.version == "v1":
            if not statistics:
                return None
            used = sum(statistics.get(f"total_{kind}", 0) for kind in ("cache", "rss", "swap"))
            return max(0, used - statistics.get("total_inactive_file", 0))
        current = self.read(cgroup, "memory.current")
        return None if current is None else max(0, int(current) - statistics.get("inactive_file", 0))


def version_of(mount: Path) -> Version:
    """A mount of cgroup v2 has its controllers in one file; v1 has a folder for each."""
    return "v2" if (mount / "cgroup.controllers").exists() else "v1"


def driver_of(mount: Path, version: Version, kubelet_root: str = "") -> Driver:
    """The driver whose root for pods is there; cgroupfs when neither is."""
    systemd = Hierarchy(mount, version, "systemd", kubelet_root)
    return "systemd" if systemd.file(systemd.pods_root(), "cpu.stat").parent.is_dir() else "cgroupfs"


def _differs(path: Path, value: str) -> str | None:
    """What a file says, if that is not `value`; None also where there is no file."""
    before = _read(path)
    return None if before == value else before


def _read(path: Path) -> str | None:
    try:
        return path.read_text().rstrip("\n")
    except OSError as problem:
        if problem.errno in _GONE:
            return None
        raise CgroupError(f"{path}: cannot read: {problem.strerror or problem}") from problem


def _correct(path: Path, value: str) -> None:
    if _differs(path, value) is not None:
        _put(path, value)


def _put(path: Path, value: str) -> None:
    try:
        path.write_text(value)
    except OSError as problem:
        if problem.errno not in _GONE:
            raise CgroupError(f"{path}: cannot write {value!r}: {problem.strerror or problem}") from problem


def _count(cpu_list: str) -> int:
    """How many CPUs a list such as `0-3,8` names."""
    ranges = (part.partition("-") for part in cpu_list.split(",") if part)
    return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)


def _fields(text: str | None) -> dict[str, int]:
    pairs = (line.split() for line in (text or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}
