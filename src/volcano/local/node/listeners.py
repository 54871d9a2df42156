"""Where a port of a pod is answered by the pod itself: all pods share the machine's network with whoever else is on it.

Neighbours: `endpoint` asks for one pod; `ports` connects to what is found here. Read from /proc, for each connection.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from volcano.local.node.usage import descendants

LOOPBACK = "127.0.0.1"
_LISTENING = "0A"
_MAPPED = "0000000000000000FFFF0000"
"""What comes before an IPv4 address where it is written as one of IPv6."""


def answering(hosts: Sequence[str], port: int, roots: Collection[int], proc: Path = Path("/proc")) -> list[str]:
    """Those of the `hosts` where a connection to `port` goes to a process that came from `roots`, or has joined one.

    Without a /proc, as on macOS, nothing can be told, and all count.
    """
    if not (proc / "net/tcp").exists():
        return list(hosts)
    listening = _listening(proc, port)
    taking = {host: _taking(listening, host) for host in hosts}
    if not any(taking.values()):
        return []
    own = _sockets(proc, _processes(proc, roots))
    return [host for host, sockets in taking.items() if sockets and sockets <= own]


def _listening(proc: Path, port: int) -> dict[str, set[str]]:
    """The listening sockets of a port, by their addresses as the kernel writes them."""
    found: dict[str, set[str]] = {}
    for name in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / name).read_text().splitlines()[1:]
        except FileNotFoundError:  # a kernel without IPv6
            continue
        for line in lines:
            words = line.split()
            address, _, number = words[1].partition(":")
            if words[3] == _LISTENING and int(number, 16) == port:
                found.setdefault(address, set()).add(words[9])
    return found


def _taking(listening: dict[str, set[str]], host: str) -> set[str]:
    """The sockets of which the kernel gives one the connections to `host`: the most specific ones."""
    is_old = ":" not in host
    packed = socket.inet_pton(socket.AF_INET if is_old else socket.AF_INET6, host)
    words = (packed[start : start + 4] for start in range(0, len(packed), 4))
    exact = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    addresses = (exact, _MAPPED + exact, "0" * 8, "0" * 32) if is_old else (exact, "0" * 32)
    return next((listening[address] for address in addresses if address in listening), set())


def _processes(proc: Path, roots: Collection[int]) -> set[int]:
    """The descendants of `roots`, and who shares the files of one of these, though not of a root: `kubectl exec`."""
    children: dict[int, list[int]] = {}
    views: dict[str, list[int]] = {}
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        pid = int(folder.name)
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(pid)
            views.setdefault(str((folder / "ns/mnt").readlink()), []).append(pid)
        except OSError:  # it has just ended, or is none of ours
            continue
    trees = {pid for root in roots for pid in descendants(root, children)}
    theirs = [pids for pids in views.values() if trees.intersection(pids) and not set(roots).intersection(pids)]
    return trees.union(*theirs)


def _sockets(proc: Path, pids: Collection[int]) -> set[str]:
    """The inodes of the sockets that processes hold."""
    found = set()
    for pid in pids:
        try:
            handles = list((proc / str(pid) / "fd").iterdir())
        except OSError:
            continue
        for handle in handles:
            try:
                target = str(handle.readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(target[8:-1])
    return found
