"""Low node utilisation: where some nodes are idle and others too busy, move the least important pods off the busy ones.

No more is moved than the idle nodes can take without becoming too busy themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from volcano.scheduler.cluster.resources import CPU, MEMORY
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.cluster.usage import NodeUsage
from volcano.scheduler.framework.session import Session

FULL: Final = 100.0
_DIMENSIONS: Final = {"cpu": CPU, "memory": MEMORY}
Loads = dict[int, float]
"""Percent by dimension."""


@dataclass(slots=True)
class LowNodeUtilization:
    idle_below: Loads = field(default_factory=lambda: dict.fromkeys((CPU, MEMORY), FULL))
    busy_above: Loads = field(default_factory=lambda: dict.fromkeys((CPU, MEMORY), FULL))

    @classmethod
    def read(cls, parameters: Mapping[str, Any]) -> LowNodeUtilization:
        strategy = cls()
        for key, limits in (("thresholds", strategy.idle_below), ("targetThresholds", strategy.busy_above)):
            given = parameters.get(key)
            for name, value in given.items() if isinstance(given, Mapping) else ():
                if name in _DIMENSIONS and isinstance(value, int | float):
                    limits[_DIMENSIONS[name]] = float(value)
        return strategy

    def victims(self, session: Session, tasks: Sequence[Task]) -> list[Task]:
        loads = _measured(session)
        idle = [row for row, load in loads.items() if self._is_idle(session, row, load)]
        busy = [row for row, load in loads.items() if row not in idle and self._is_busy(load)]
        if not idle or not busy:
            return []
        budget = {
            d: sum((self.busy_above[d] - loads[row][d]) / 100 * session.nodes.allocatable[row, d] for row in idle)
            for d in (CPU, MEMORY)
        }
        on_row: defaultdict[int, list[Task]] = defaultdict(list)
        for task in tasks:
            on_row[task.node].append(task)
        busy.sort(key=lambda row: -sum(loads[row].values()))
        chosen: list[Task] = []
        for row in busy:
            chosen += self._relieve(session, row, loads[row], budget, on_row[row])
        return chosen

    def _relieve(
        self, session: Session, row: int, load: Loads, budget: dict[int, float], tasks: Iterable[Task]
    ) -> list[Task]:
        chosen = []
        for task in sorted(tasks, key=_importance):
            if not self._is_busy(load) or min(budget.values()) <= 0:
                break
            chosen.append(task)
            for d in (CPU, MEMORY):
                amount = float(task.profile.request[d])
                budget[d] -= amount
                load[d] -= 100 * amount / max(float(session.nodes.allocatable[row, d]), 1.0)
        return chosen

    def _is_idle(self, session: Session, row: int, load: Loads) -> bool:
        return not session.nodes.unschedulable[row] and all(load[d] < limit for d, limit in self.idle_below.items())

    def _is_busy(self, load: Loads) -> bool:
        return any(load[d] > limit for d, limit in self.busy_above.items())


def _measured(session: Session) -> dict[int, Loads]:
    """By row; a node that nobody has measured is neither idle nor busy."""
    usage = session.cluster.index(NodeUsage).by_node
    return {
        session.nodes.row_of[name]: {CPU: measured.cpu_percent, MEMORY: measured.memory_percent}
        for name, measured in usage.items()
        if name in session.nodes.row_of
    }


def _importance(task: Task) -> tuple[bool, int, int, str]:
    """Least important first: no priority, then low ones; then by how firmly resources were asked for."""
    priority = task.pod.spec.priority
    return (priority is not None, priority or 0, _firmness(task), task.uid)


def _firmness(task: Task) -> int:
    """0 for best effort, 2 where every container's limits equal its requests, else 1."""
    if task.best_effort:
        return 0
    guaranteed = all(
        container.resources.limits.get(name)
        and container.resources.limits.get(name)
        == (container.resources.requests.get(name) or container.resources.limits.get(name))
        for container in task.pod.spec.containers
        for name in ("cpu", "memory")
    )
    return 2 if guaranteed else 1
