"""Counters of a job's status from its members, and the bookkeeping of a status that changes.

Pure. Used by kill.py and sync.py.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from volcano.api import duration
from volcano.api.batch import JobCondition, JobState, TaskState
from volcano.controllers.job.members import TERMINATING
from volcano.controllers.job.vocabulary import FINISHED_PODS, Phase, PodPhase

if TYPE_CHECKING:
    from volcano.api.batch import Job, JobStatus
    from volcano.controllers.job.members import Members


class Tally:
    """Pods by task and standing, adjustable for what a plan is about to do."""

    __slots__ = ("by_task",)

    def __init__(self, members: Members) -> None:
        self.by_task: dict[str, dict[str, int]] = {name: dict(pods.tally) for name, pods in members.tasks.items()}

    def move(self, task: str, standing: str, to: str) -> None:
        self.add(task, standing, -1)
        self.add(task, to, 1)

    def add(self, task: str, standing: str, count: int) -> None:
        counts = self.by_task.setdefault(task, {})
        counts[standing] = counts.get(standing, 0) + count

    def totals(self) -> Mapping[str, int]:
        """Pods of all tasks, by standing."""
        totals: dict[str, int] = {}
        for counts in self.by_task.values():
            for standing, count in counts.items():
                totals[standing] = totals.get(standing, 0) + count
        return totals

    def alive(self, task: str) -> int:
        """Pods of a task that have not finished."""
        counts = self.by_task.get(task, {})
        return sum(count for standing, count in counts.items() if standing not in FINISHED_PODS)

    def task_states(self) -> dict[str, TaskState]:
        states: dict[str, TaskState] = {}
        for task, counts in self.by_task.items():
            phases = {phase: count for phase, count in sorted(counts.items()) if count > 0 and phase != TERMINATING}
            if phases:
                states[task] = TaskState(phase=phases)
        return states


def recounted(status: JobStatus, tally: Tally) -> JobStatus:
    """`status` with all its counters as `tally` has them."""
    totals = tally.totals()
    return msgspec.structs.replace(
        status,
        pending=totals.get(PodPhase.PENDING, 0),
        running=totals.get(PodPhase.RUNNING, 0),
        succeeded=totals.get(PodPhase.SUCCEEDED, 0),
        failed=totals.get(PodPhase.FAILED, 0),
        unknown=totals.get(PodPhase.UNKNOWN, 0),
        terminating=totals.get(TERMINATING, 0),
        task_status_count=tally.task_states(),
    )


def entered(
    status: JobStatus, phase: Phase, now: datetime.datetime, *, reason: str = "", message: str = ""
) -> JobStatus:
    """`status` in `phase` since now; a condition of the same phase is replaced by the newer one."""
    conditions = [condition for condition in status.conditions if condition.status != phase]
    conditions.append(JobCondition(status=phase.value, last_transition_time=now))
    state = JobState(phase=phase.value, reason=reason, message=message, last_transition_time=now)
    return msgspec.structs.replace(status, state=state, conditions=conditions)


def with_running_duration(job: Job, status: JobStatus) -> JobStatus:
    """How long the job ran before its last transition: since it was Running, else since it was created."""
    ended = status.state.last_transition_time
    began = _running_since(status) or job.metadata.creation_timestamp
    if ended is None or began is None:
        return status
    ran = max(ended - began, datetime.timedelta(0))
    return msgspec.structs.replace(status, running_duration=duration.format(ran))


def _running_since(status: JobStatus) -> datetime.datetime | None:
    for condition in status.conditions:
        if condition.status == Phase.RUNNING:
            return condition.last_transition_time
    return None


def only_counters_differ(old: JobStatus, new: JobStatus) -> bool:
    """Whether nothing but numbers of pods (and the version they go with) distinguishes two statuses."""
    if old.state != new.state:
        return False
    same = msgspec.structs.replace(
        new,
        pending=old.pending,
        running=old.running,
        succeeded=old.succeeded,
        failed=old.failed,
        unknown=old.unknown,
        terminating=old.terminating,
        task_status_count=old.task_status_count,
        version=old.version,
    )
    return same == old
