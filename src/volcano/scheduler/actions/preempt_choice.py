"""Topology-aware preemption: try several nodes, compare whom each would cost, take the cheapest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from volcano.scheduler.actions.eviction import Search
from volcano.scheduler.cluster.tasks import Task

_OFFSET = 1 << 31


@dataclass(frozen=True, slots=True)
class Plan:
    row: int
    victims: tuple[Task, ...]

    @property
    def cost(self) -> tuple[float, ...]:
        """Less is better: the first victim's priority, the sum of all, their number, and how long they have run."""
        priorities = [_pod_priority(task) for task in self.victims]
        highest = max(priorities)
        starts = [
            _started(task) for task, priority in zip(self.victims, priorities, strict=True) if priority == highest
        ]
        return (priorities[0], sum(p + _OFFSET for p in priorities), len(self.victims), -min(starts))


def best_plan(search: Search, rows: Sequence[int], wanted: int, is_candidate: Callable[[Task], bool]) -> Plan | None:
    """The cheapest of the first `wanted` nodes where evicting somebody helps; nothing is changed."""
    plans: list[Plan] = []
    for row in rows:
        if len(plans) >= wanted:
            break
        plan = _plan(search, row, is_candidate)
        if plan is not None:
            plans.append(plan)
    return min(plans, key=lambda plan: plan.cost, default=None)


def _plan(search: Search, row: int, is_candidate: Callable[[Task], bool]) -> Plan | None:
    victims = search.proposed(row, "preemptable", is_candidate)
    if not victims or not search.suffices(row, victims):
        return None
    checkpoint = search.statement.checkpoint()
    evicted = search.make_room(row, victims, lambda: search.fits(row))
    search.statement.rollback(checkpoint)
    return Plan(row, tuple(evicted)) if evicted else None


def _pod_priority(task: Task) -> int:
    return task.pod.spec.priority or 0


def _started(task: Task) -> float:
    start = task.pod.status.start_time
    return start.timestamp() if start is not None else float("inf")
