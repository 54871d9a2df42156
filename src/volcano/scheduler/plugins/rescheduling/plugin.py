"""rescheduling: every interval, choose victims on nodes that are too busy by measurement, for the action shuffle.

utilisation.py has the one strategy there is; measurements come from cluster/usage.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from volcano.api import duration
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.plugin import Plugin
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.rescheduling.utilisation import LowNodeUtilization

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster

DEFAULT_INTERVAL_SECONDS: Final = 300.0
LOW_NODE_UTILIZATION: Final = "lowNodeUtilization"


class Strategy(msgspec.Struct, frozen=True):
    name: str
    params: dict[str, Any] = {}


class Arguments(msgspec.Struct, frozen=True):
    interval: str = "5m"
    metrics_period: str = msgspec.field(default="", name="metricsPeriod")
    """Accepted: there is one measurement per node, whatever it is called."""
    strategies: list[Strategy] = msgspec.field(default_factory=lambda: [Strategy(LOW_NODE_UTILIZATION)])


class LastRun:
    """When victims were last chosen: one for a cluster."""

    def __init__(self, _cluster: Cluster) -> None:
        self.at: float | None = None

    def shift_times(self, seconds: float) -> None:
        if self.at is not None:
            self.at += seconds


class Rescheduling(Plugin):
    name = "rescheduling"
    Arguments = Arguments

    def open(self, session: Session) -> None:
        """The first session starts the clock."""
        last = session.cluster.index(LastRun)
        if last.at is None:
            last.at = session.now
        self._is_due = last.at + self._interval() < session.now
        if self._is_due:
            last.at = session.now

    def victim_tasks(self, tasks: Sequence[Task]) -> Sequence[Task]:
        if not self._is_due:
            return []
        chosen: dict[str, Task] = {}
        for strategy in self.arguments.strategies:
            if strategy.name != LOW_NODE_UTILIZATION:
                self.session.warn(f"rescheduling: there is no strategy {strategy.name!r}: use {LOW_NODE_UTILIZATION}")
                continue
            found = LowNodeUtilization.read(strategy.params).victims(self.session, tasks)
            chosen.update({task.uid: task for task in found})
        return list(chosen.values())

    def _interval(self) -> float:
        try:
            return duration.parse_seconds(self.arguments.interval)
        except duration.DurationError:
            self.session.warn(f"rescheduling: interval {self.arguments.interval!r} is not a duration, 5m is used")
            return DEFAULT_INTERVAL_SECONDS
