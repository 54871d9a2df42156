"""Counters of a job's status from its members, and the bookkeeping of a status that changes.

Pure. Used by kill.py and sync.py.
"""

from __future__ import annotations

import datetime
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from volcano.api import duration
from volcano.api.batch import JobCondition, JobState, TaskState
from volcano.controllers.job.members import TERMINATING
from volcano.controllers.job.vocabulary import Phase, PodPhase

if TYPE_CHECKING:
    from volcano.api.batch import Job, JobStatus
    from volcano.controllers.job.members import Members


class Tally:
    """Pods by task and standing, adjustable for what a plan is about to do."""

    __slots__ = ("by_task",)

    def __init__(self, members: Members) -> None:
        self.by_task: dict[str, Counter[str]] = {name: Counter(pods.tally) for name, pods in members.tasks.items()}

    def move(self, task: str, standing: str, to: str) -> None:
        counts = self.by_task[task]
        counts[standing] -= 1
        counts[to] += 1

    def add(self, task: str, standing: str, count: int = 1) -> None:
        self.by_task.setdefault(task, Counter())[standing] += count

    def total(self, standing: str) -> int:
        return sum(counts[standing] for counts in self.by_task.values())

    def alive(self, task: str) -> int:
        """Pods of a task that have not finished."""
        counts = self.by_task.get(task, Counter())
        return counts.total() - counts[PodPhase.SUCCEEDED] - counts[PodPhase.FAILED]

    def task_states(self) -> dict[str, TaskState]:
        states: dict[str, TaskState] = {}
        for task, counts in self.by_task.items():
            phases = {phase: count for phase, count in sorted(counts.items()) if count > 0 and phase != TERMINATING}
            if phases:
                states[task] = TaskState(phase=phases)
        return states


def recounted(status: JobStatus, tally: Tally) -> JobStatus:
    """`status` with all its counters as `tally` has them."""
    return msgspec.structs.replace(
        status,
        pending=tally.total(PodPhase.PENDING),
        running=tally.total(PodPhase.RUNNING),
        succeeded=tally.total(PodPhase.SUCCEEDED),
        failed=tally.total(PodPhase.FAILED),
        unknown=tally.total(PodPhase.UNKNOWN),
        terminating=tally.total(TERMINATING),
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
