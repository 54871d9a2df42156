"""Which phase a job is in, given its new counts: the rules of each phase, one function each.

Pure. The machine's table names one of them per transition; they see the counts after the operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from volcano.api.phases import RETRIES_USED_UP
from volcano.controllers.job.vocabulary import Phase, PodPhase

if TYPE_CHECKING:
    from volcano.api.batch import JobSpec, JobStatus

Outcome: TypeAlias = "Callable[[JobSpec, JobStatus], Phase]"


def started(spec: JobSpec, status: JobStatus) -> Phase:
    """Pending until `minAvailable` pods have begun."""
    begun = status.running + status.succeeded + status.failed
    return Phase.RUNNING if spec.min_available <= begun else Phase.PENDING


def finished(spec: JobSpec, status: JobStatus) -> Phase:
    """Running until enough pods succeeded, all ended, or too many are pending again."""
    total = total_replicas(spec)
    if total == 0:
        return Phase.RUNNING
    if spec.min_success is not None and status.succeeded >= spec.min_success:
        return Phase.COMPLETED
    if status.succeeded + status.failed == total:
        return Phase.COMPLETED if _succeeded(spec, status) else Phase.FAILED
    if status.pending > total - spec.min_available:
        return started(spec, status)  # Pending, unless there are pods beyond the replicas: else each look turned it
    return Phase.RUNNING


def restarted(spec: JobSpec, status: JobStatus) -> Phase:
    """Failed once the retries are used up; else Pending as soon as enough old pods are gone."""
    if status.retry_count >= spec.max_retry:
        return Phase.FAILED
    if total_replicas(spec) - status.terminating >= status.min_available:
        return Phase.PENDING
    return Phase.RESTARTING


def cause(spec: JobSpec, status: JobStatus, phase: Phase) -> tuple[str, str]:
    """Why a job with this status enters `phase`, in one word and for people; "" where the phase says it all."""
    if phase == Phase.FAILED and status.state.phase == Phase.RESTARTING:
        return RETRIES_USED_UP, f"retries are used up ({status.retry_count} of {spec.max_retry})"
    return "", ""


def always(phase: Phase) -> Outcome:
    return lambda _spec, _status: phase


def drained(waiting: Phase, done: Phase) -> Outcome:
    """`done` once no pod is alive."""

    def outcome(_spec: JobSpec, status: JobStatus) -> Phase:
        return waiting if status.terminating + status.pending + status.running else done

    return outcome


def total_replicas(spec: JobSpec) -> int:
    return sum(task.replicas for task in spec.tasks)


def total_minimum(spec: JobSpec) -> int:
    return sum(task.replicas if task.min_available is None else task.min_available for task in spec.tasks)


def _succeeded(spec: JobSpec, status: JobStatus) -> bool:
    """Every pod has ended: was that success?"""
    if spec.min_available >= total_minimum(spec) and not _tasks_succeeded(spec, status):
        return False
    if spec.min_success is not None:
        return status.succeeded >= spec.min_success
    return status.succeeded >= spec.min_available


def _tasks_succeeded(spec: JobSpec, status: JobStatus) -> bool:
    for task in spec.tasks:
        if task.min_available is None or task.name not in status.task_status_count:
            continue
        if status.task_status_count[task.name].phase.get(PodPhase.SUCCEEDED, 0) < task.min_available:
            return False
    return True
