"""Facts that survive: documents written whole or not at all, a claim on a pod, the identity of a process.

Neighbours: `pod` and `volcano.local.node.runtime` both read and write a pod's folder through this module.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from typing import Any


def write_durably(path: str, document: object) -> None:
    """Replace `path` by `document` so that a crash at any instant leaves the old or the new one."""
    temporary = f"{path}.new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, json.dumps(document).encode())
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)
    sync_folder(os.path.dirname(path))


def sync_folder(path: str) -> None:
    folder = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read(path: str) -> Any:
    """The document at `path`, or None when there is none."""
    try:
        with open(path, "rb") as file:
            return json.loads(file.read())
    except FileNotFoundError:
        return None


def claim(path: str) -> int | None:
    """Take the exclusive lock at `path`; None when another process holds it. It ends with the holder's life."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def birth_of(pid: int) -> str:
    """When process `pid` was born, in a form that no later process with the same number shares; "" if it is gone."""
    if sys.platform != "linux":
        import subprocess

        found = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return found.stdout.strip()
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return f"{_boot()}:{fields[19].decode()}"


def _boot() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read(8)
