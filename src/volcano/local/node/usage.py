"""What pods and the machine use, read from /proc: CPU time and resident memory of process trees.

Neighbours: `endpoint` serves it as a kubelet's summary; nothing is measured unless somebody asks.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from volcano.api.meta import JsonObject
from volcano.local.node.runtime import Run
from volcano.local.times import timestamp

WINDOW_SECONDS = 0.25
_STALE_SECONDS = 60.0
_TICK_NANOSECONDS = 10**9 // os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

Place = tuple[str, str]
"""The uid of a pod and the name of a container; two empty strings are the machine."""
MACHINE: Place = ("", "")


@dataclass(frozen=True)
class Sample:
    """CPU time in nanoseconds since the start, and memory now."""

    time: float
    cpu: dict[Place, int] = field(default_factory=dict)
    memory: dict[Place, int] = field(default_factory=dict)


class Meter:
    """Compares what was used with what had been used at an earlier look."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._last: Sample | None = None

    async def summary(self, name: str, runs: Mapping[str, Run]) -> JsonObject:
        """The node's and its pods' usage, in the form of a kubelet's stats/summary."""
        roots = {
            (uid, container): state["pid"]
            for uid, run in runs.items()
            for container, state in run.report["containers"].items()
            if state["state"] == "running"
        }
        before = self._last
        if before is None or time.monotonic() - before.time > _STALE_SECONDS or not roots.keys() <= before.cpu.keys():
            before = sample(self._proc, roots)
            await asyncio.sleep(WINDOW_SECONDS)
        self._last = now = sample(self._proc, roots)
        return {
            "node": {"nodeName": name, **_usage(before, now, MACHINE)},
            "pods": [
                {
                    "podRef": {"name": run.plan["name"], "namespace": run.plan["namespace"], "uid": uid},
                    "containers": [
                        {"name": container, **_usage(before, now, (uid, container))}
                        for container in run.report["containers"]
                        if (uid, container) in roots
                    ],
                }
                for uid, run in runs.items()
            ],
        }


def sample(proc: Path, roots: Mapping[Place, int]) -> Sample:
    """One look at all processes."""
    used: dict[int, tuple[int, int]] = {}
    children: dict[int, list[int]] = {}
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        pid = int(folder.name)
        used[pid] = sum(int(ticks) for ticks in fields[11:15]), int(fields[21])
        children.setdefault(int(fields[1]), []).append(pid)
    result = Sample(time.monotonic())
    for place, root in roots.items():
        tree = descendants(root, children)
        result.cpu[place] = sum(used[pid][0] for pid in tree if pid in used) * _TICK_NANOSECONDS
        result.memory[place] = sum(used[pid][1] for pid in tree if pid in used) * _PAGE_BYTES
    result.cpu[MACHINE] = _machine_ticks(proc) * _TICK_NANOSECONDS
    result.memory[MACHINE] = _machine_memory(proc)
    return result


def descendants(root: int, children: Mapping[int, list[int]]) -> list[int]:
    """A process and all that came from it, by the children of each."""
    found = [root]
    for pid in found:
        found += children.get(pid, ())
    return found


def _machine_ticks(proc: Path) -> int:
    """User, nice, system, interrupts: all but idling and waiting."""
    ticks = [int(word) for word in (proc / "stat").read_text().partition("\n")[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4]


def _machine_memory(proc: Path) -> int:
    lines = (line.split() for line in (proc / "meminfo").read_text().splitlines())
    kibibytes = {words[0].rstrip(":"): int(words[1]) for words in lines if len(words) > 1}
    return (kibibytes["MemTotal"] - kibibytes["MemAvailable"]) * 1024


def _usage(before: Sample, now: Sample, place: Place) -> JsonObject:
    seconds = max(now.time - before.time, 1e-3)
    spent = max(now.cpu[place] - before.cpu.get(place, now.cpu[place]), 0)
    when = timestamp(time.time())
    return {
        "cpu": {"time": when, "usageNanoCores": int(spent / seconds), "usageCoreNanoSeconds": now.cpu[place]},
        "memory": {"time": when, "workingSetBytes": now.memory[place]},
    }
