"""What pods and the node use, measured once per round: CPU between two readings, memory now.

Read from the `cgroups` of pods and, for the whole node, from /proc.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from volcano.agent.cgroups import Hierarchy
from volcano.agent.qos import Amount

_TICK_NANOSECONDS: Final = 10_000_000
_IDLE_FIELDS: Final = (3, 4)
_COUNTED_FIELDS: Final = 8
"""User to steal: guest time is part of user time."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Of the pods, or of the whole node where system usage counts; CPU of best effort and pinned pods is part of it."""

    amount: Amount
    pods_cpu: int
    besteffort_cpu: int
    pinned_cpu: int = 0

    @property
    def shared(self) -> Amount:
        """Without what runs on CPUs of its own."""
        return Amount(max(0, self.amount.cpu - self.pinned_cpu), self.amount.memory)


@dataclass(frozen=True, slots=True)
class _Reading:
    seconds: float
    pods: int
    besteffort: int
    node: int
    pinned: Mapping[str, int]


class Meter:
    def __init__(
        self, hierarchy: Hierarchy, now: Callable[[], float], *, stat: Path, meminfo: Path, system: bool = False
    ) -> None:
        self._hierarchy, self._now = hierarchy, now
        self._stat, self._meminfo, self._system = stat, meminfo, system
        self._last: _Reading | None = None

    def measure(self, pinned: Collection[str] = ()) -> Usage | None:
        """Usage since the last call, also of these cgroups; None for the first, and where there are no pods'."""
        pods = self._hierarchy.cpu_nanoseconds(self._hierarchy.pods_root())
        memory = self._hierarchy.memory_bytes(self._hierarchy.pods_root())
        if pods is None or memory is None:
            self._last = None
            return None
        besteffort = self._hierarchy.cpu_nanoseconds(self._hierarchy.besteffort()) or 0
        node = node_nanoseconds(self._stat.read_text()) if self._system else 0
        last, now = self._last, _Reading(self._now(), pods, besteffort, node, self._read(pinned))
        self._last = now
        if last is None or now.seconds <= last.seconds:
            return None
        span = now.seconds - last.seconds
        pods_cpu, besteffort_cpu = (
            _milli(now.pods - last.pods, span),
            _milli(now.besteffort - last.besteffort, span),
        )
        cpu = max(pods_cpu, _milli(now.node - last.node, span))
        if self._system:
            memory = node_memory(self._meminfo.read_text())
        own = sum(used - last.pinned[cgroup] for cgroup, used in now.pinned.items() if cgroup in last.pinned)
        return Usage(Amount(cpu, memory), pods_cpu, besteffort_cpu, _milli(own, span))

    def _read(self, cgroups: Collection[str]) -> dict[str, int]:
        readings = {cgroup: self._hierarchy.cpu_nanoseconds(cgroup) for cgroup in cgroups}
        return {cgroup: used for cgroup, used in readings.items() if used is not None}


def node_nanoseconds(stat: str) -> int:
    """CPU time of /proc/stat that was neither idle nor waiting for disks."""
    ticks = [int(part) for part in stat.splitlines()[0].split()[1 : _COUNTED_FIELDS + 1]]
    return sum(value for index, value in enumerate(ticks) if index not in _IDLE_FIELDS) * _TICK_NANOSECONDS


def node_memory(meminfo: str) -> int:
    """Bytes of /proc/meminfo that are not available."""
    fields = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in meminfo.splitlines())}
    return (fields["MemTotal"] - fields["MemAvailable"]) * 1024


def _milli(nanoseconds: int, seconds: float) -> int:
    return max(0, int(nanoseconds / seconds / 1_000_000))
