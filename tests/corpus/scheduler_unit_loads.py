"""Recorded calls on the load that is estimated until it is measured, answered by the shadow of the usage plugin.

An adapter takes a recorded call and gives (ours, recorded).
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.corpus.loader import Record
from tests.corpus.scheduler_unit_resources import Answer
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.plugins.usage.shadow import Shadow


class Estimates:
    """A shadow with node names for rows."""

    def __init__(self, recorded: Record) -> None:
        self.shadow = Shadow(8)
        self.nodes: list[str] = []
        for uid, entry in (recorded["podSnapshots"] or {}).items():
            self.add(uid, entry["NodeName"], entry["CPUMillis"], entry["MemBytes"])

    def add(self, uid: str, node: str, cpu: float, memory: float) -> None:
        self.shadow.add(self._task(uid, self.row(node)), cpu, memory)

    def remove(self, uid: str) -> None:
        self.shadow.remove(self._task(uid, 0))

    def row(self, node: str) -> int:
        if node not in self.nodes:
            self.nodes.append(node)
        return self.nodes.index(node)

    @staticmethod
    def _task(uid: str, row: int) -> Task:
        return cast(Task, SimpleNamespace(uid=uid, node=row))

    def of(self, node: str) -> tuple[float, float]:
        row = self.row(node)
        return float(self.shadow.cpu[row]), float(self.shadow.memory[row])

    def all(self) -> dict[str, tuple[float, float]]:
        return {node: self.of(node) for node in self.nodes if any(self.of(node))}


def _recorded_estimates(recorded: Record) -> Any:
    cpu, memory = recorded["nodeCPUEst"] or {}, recorded["nodeMemEst"] or {}
    found = {node: (cpu[node], memory[node]) for node in cpu if cpu[node] > 1e-6 or memory[node] > 1e-6}
    return {node: pytest.approx(pair, abs=1e-6) for node, pair in found.items()}


def _estimate_added(call: Record) -> Answer:
    args = call["args"]
    estimates = Estimates(args["receiver"])
    estimates.add(args["taskID"], args["nodeName"], args["cpuMillis"], args["memBytes"])
    return estimates.all(), _recorded_estimates((call.get("argsAfter") or args)["receiver"])


def _estimate_removed(call: Record) -> Answer:
    args = call["args"]
    estimates = Estimates(args["receiver"])
    estimates.remove(args["taskID"])
    return estimates.all(), _recorded_estimates((call.get("argsAfter") or args)["receiver"])


def _estimate_of(call: Record) -> Answer:
    found = Estimates(call["args"]["receiver"]).of(call["args"]["nodeName"])
    return list(found), pytest.approx(call["want"], abs=1e-6)


def _is_clean(call: Record) -> Answer:
    return not Estimates(call["args"]["receiver"]).all(), call["want"]


ADAPTERS: dict[str, Callable[[Record], Any]] = {
    "ShadowLoadCache.AddEstimate": _estimate_added,
    "ShadowLoadCache.SubEstimateBySnapshot": _estimate_removed,
    "ShadowLoadCache.GetNodeEst": _estimate_of,
    "ShadowLoadCache.IsClean": _is_clean,
}
