"""One step of a flow's life: which jobs start, which go, and what its status says.

Pure. Called by controller.py; neighbours: probes.py (what dependencies wait for), progress.py (the status).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from volcano.controllers.jobflow import order, probes, progress
from volcano.controllers.jobflow.jobs import job_name
from volcano.controllers.jobflow.probes import Question

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.api.flow import Flow, JobFlow, JobFlowStatus


class Phase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEED = "Succeed"
    FAILED = "Failed"
    TERMINATING = "Terminating"


DELETE: Final = "delete"


@dataclass(slots=True)
class Plan:
    start: Sequence[str] = ()
    """Steps whose jobs to create."""
    remove: Sequence[str] = ()
    """Names of jobs to delete."""
    status: JobFlowStatus | None = None
    questions: Sequence[Question] = ()
    """What steps that do not start yet have to ask of pods."""
    unknown_tasks: Sequence[str] = field(default_factory=list)
    """Tasks that probes name and no job has."""
    obstacles: Sequence[str] = ()
    """Why steps will never start."""


def step(flow: JobFlow, jobs: Mapping[str, Job], answered: Collection[Question], now: datetime) -> Plan:
    """What to do for `flow`, whose jobs are `jobs` (by name); `answered` are the probes that succeeded just now."""
    phase = phase_of(flow)
    if flow.metadata.deletion_timestamp is not None:
        return Plan(status=_with_phase(progress.status_of(flow, jobs, now), Phase.TERMINATING))
    if phase == Phase.SUCCEED and flow.spec.job_retain_policy == DELETE:
        return Plan(remove=sorted(jobs))
    if phase == Phase.TERMINATING or (phase == Phase.FAILED and not flow.status.job_status_list):
        return Plan()
    status = progress.status_of(flow, jobs, now)
    status = _with_phase(status, next_phase(phase, flow, status))
    if status.state.phase == Phase.FAILED and phase == Phase.FAILED:
        return Plan(status=status)
    gates = {one.name: probes.Gate(one, _targets(flow, one), jobs, flow.status) for one in _missing(flow, jobs)}
    return Plan(
        start=[name for name, gate in gates.items() if gate.is_open(answered)],
        status=status,
        questions=[question for gate in gates.values() for question in gate.questions()],
        unknown_tasks=sorted({task for gate in gates.values() for task in gate.unknown_tasks()}),
        obstacles=list(order.obstacles(flow)) if gates else (),
    )


def phase_of(flow: JobFlow) -> Phase:
    return Phase(flow.status.state.phase or Phase.PENDING)


def next_phase(phase: Phase, flow: JobFlow, status: JobFlowStatus) -> Phase:
    """A flow fails with its first job, and goes on when no job of it is failed any more."""
    broken = bool(status.failed_jobs or status.terminated_jobs)
    started = bool(status.running_jobs or status.completed_jobs)
    match phase:
        case Phase.PENDING if started and not status.failed_jobs:
            return Phase.RUNNING
        case Phase.PENDING | Phase.RUNNING if broken and not _all_completed(flow, status):
            return Phase.FAILED
        case Phase.RUNNING if _all_completed(flow, status):
            return Phase.SUCCEED
        case Phase.FAILED if not broken:
            return Phase.RUNNING if started else Phase.PENDING
        case _:
            return phase


def _all_completed(flow: JobFlow, status: JobFlowStatus) -> bool:
    return len(status.completed_jobs) == len(flow.spec.flows)


def _with_phase(status: JobFlowStatus, phase: Phase) -> JobFlowStatus:
    status.state.phase = phase.value
    return status


def _missing(flow: JobFlow, jobs: Mapping[str, Job]) -> list[Flow]:
    """Steps that have no job and never had one that came to an end."""
    ended = progress.ended(flow.status)
    names = {one.name: job_name(flow.metadata.name, one.name) for one in flow.spec.flows}
    return [one for one in flow.spec.flows if names[one.name] not in jobs and names[one.name] not in ended]


def _targets(flow: JobFlow, one: Flow) -> list[str]:
    return [job_name(flow.metadata.name, target) for target in order.targets_of(one)]
