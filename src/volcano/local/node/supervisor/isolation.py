"""A container's own view of files and of its host name, through mount and user namespaces (Linux).

Neighbours: `containers` calls `enter` in the forked child; `available` is probed once by the node.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile

from volcano.local.node.supervisor.documents import Mount

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
MS_RDONLY = 1
MS_REMOUNT = 32
MS_BIND = 4096
MS_MOVE = 8192
MS_REC = 16384
MS_UNBINDABLE = 1 << 17
MS_PRIVATE = 1 << 18
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

_KEPT_FLAGS = os.ST_NOSUID | getattr(os, "ST_NODEV", 4) | getattr(os, "ST_NOEXEC", 8)


class Kernel:
    """The few calls that Python's `os` does not have."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)

    def unshare(self, flags: int) -> None:
        self._check("unshare", self._libc.unshare(flags))

    def setns(self, fd: int) -> None:
        self._check("setns", self._libc.setns(fd, 0))

    def mount(self, source: str, target: str, kind: str | None, flags: int) -> None:
        kind_bytes = kind.encode() if kind else None
        done = self._libc.mount(source.encode(), target.encode(), kind_bytes, ctypes.c_ulong(flags), None)
        self._check(f"mount {source} on {target}", done)

    def sethostname(self, name: str) -> None:
        raw = name.encode()
        self._check("sethostname", self._libc.sethostname(raw, len(raw)))

    def die_with_parent(self, signal: int) -> None:
        if sys.platform == "linux":
            self._libc.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0)

    def adopt_orphans(self) -> None:
        if sys.platform == "linux":
            self._libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def _check(self, what: str, result: int) -> None:
        if result != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"{what}: {os.strerror(code)}")


def enter(kernel: Kernel, hostname: str, mounts: list[Mount], folder: str, scratch: str) -> None:
    """Move the calling process into namespaces where `mounts` and the working `folder` are in place.

    The empty folder `scratch` is where folders in memory are put together.
    """
    _unshare(kernel)
    kernel.mount("none", "/", None, MS_REC | MS_PRIVATE)
    if hostname:
        kernel.sethostname(hostname)
    view = _View(kernel, scratch)
    for mount in sorted(mounts, key=lambda m: m["target"].count("/")):
        view.show(mount)
    view.ensure(folder)


def join(kernel: Kernel, pid: int) -> None:
    """Move the calling process into the namespaces and the root of process `pid`, where they are its own."""
    if sys.platform != "linux":
        return
    root = os.open(f"/proc/{pid}/root", os.O_RDONLY | os.O_DIRECTORY)
    kinds = ("mnt", "uts") if os.geteuid() == 0 else ("user", "mnt", "uts")
    targets = [f"/proc/{pid}/ns/{kind}" for kind in kinds if not _shares(pid, kind)]
    for fd in [os.open(target, os.O_RDONLY) for target in targets]:
        kernel.setns(fd)
    if targets:
        os.fchdir(root)
        os.chroot(".")


def _shares(pid: int, kind: str) -> bool:
    return os.readlink(f"/proc/{pid}/ns/{kind}") == os.readlink(f"/proc/self/ns/{kind}")


def _unshare(kernel: Kernel) -> None:
    if os.geteuid() == 0:
        kernel.unshare(CLONE_NEWNS | CLONE_NEWUTS)
        return
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


class _View:
    """The file tree of one container while it is being put together."""

    def __init__(self, kernel: Kernel, scratch: str) -> None:
        self._kernel = kernel
        self._scratch = scratch
        self._volumes: list[str] = []
        self._folders: set[str] = set()

    def show(self, mount: Mount) -> None:
        target = self._place(mount["target"], is_folder=os.path.isdir(mount["source"]))
        self._kernel.mount(mount["source"], target, None, MS_BIND | MS_REC)
        if mount["read_only"]:
            kept = os.statvfs(target).f_flag & _KEPT_FLAGS
            self._kernel.mount("none", target, None, MS_BIND | MS_REMOUNT | MS_RDONLY | kept)
        self._volumes.append(target)

    def ensure(self, folder: str) -> None:
        """A folder at this path, made in memory where the host has none."""
        self._place(folder, is_folder=True)

    def _place(self, wanted: str, *, is_folder: bool) -> str:
        """An existing file or folder at `wanted` to mount on; the host's own tree is never written to."""
        target = os.path.realpath(wanted)
        if os.path.exists(target):
            return target
        missing = [target]
        while not os.path.exists(os.path.dirname(missing[-1])):
            missing.append(os.path.dirname(missing[-1]))
        if not self._is_ours(os.path.dirname(missing[-1])):
            self._shadow(os.path.dirname(missing[-1]))
        folders = missing if is_folder else missing[1:]
        for folder in reversed(folders):
            os.mkdir(folder)
            self._folders.add(folder)
        if not is_folder:
            _touch(target)
        return target

    def _is_ours(self, folder: str) -> bool:
        return folder in self._folders or any(folder == v or folder.startswith(v + "/") for v in self._volumes)

    def _shadow(self, folder: str) -> None:
        """Put a folder in memory over `folder` that shows the same entries and can take new ones."""
        self._kernel.mount("tmpfs", self._scratch, "tmpfs", 0)
        self._kernel.mount("none", self._scratch, None, MS_UNBINDABLE)  # or the entry above it would show it twice
        os.chmod(self._scratch, os.stat(folder).st_mode & 0o7777)
        for entry in os.scandir(folder):
            self._show_entry(entry)
        self._kernel.mount("none", self._scratch, None, MS_PRIVATE)
        self._folders.add(folder)
        if folder == "/":
            os.chroot(self._scratch)
            os.chdir("/")
        else:
            self._kernel.mount(self._scratch, folder, None, MS_MOVE)

    def _show_entry(self, entry: os.DirEntry[str]) -> None:
        shown = os.path.join(self._scratch, entry.name)
        try:
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), shown)
            elif entry.is_dir():
                os.mkdir(shown)
                self._kernel.mount(entry.path, shown, None, MS_BIND | MS_REC)
            else:
                _touch(shown)
                self._kernel.mount(entry.path, shown, None, MS_BIND)
        except FileNotFoundError:  # the entry vanished meanwhile: it need not be shown
            return


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))


def available() -> str:
    """Why this machine cannot isolate a container's files, or "" when it can. Tried for real in a child."""
    if sys.platform != "linux":
        return "namespaces need Linux"
    with tempfile.TemporaryDirectory(prefix="volcano-probe-") as folder:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _probe(folder, writer)
        os.close(writer)
        with os.fdopen(reader) as answer:
            text = answer.read()
        os.waitpid(child, 0)
    return "" if text == "yes" else text or "the probe ended early"


def _probe(folder: str, writer: int) -> None:
    try:
        source, scratch = os.path.join(folder, "source"), os.path.join(folder, "scratch")
        os.mkdir(source)
        os.mkdir(scratch)
        mount: Mount = {"source": source, "target": "/volcano-probe/volume", "read_only": True}
        enter(Kernel(), "volcano-probe", [mount], "/volcano-probe/work", scratch)
        os.write(writer, b"yes" if os.path.isdir("/volcano-probe/volume") else b"the mount is not visible")
    except OSError as error:
        os.write(writer, str(error).encode())
    finally:
        os._exit(0)
