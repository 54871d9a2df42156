"""The status of a flow: its jobs by phase, and the history of each.

Pure. Used by machine.py. Jobs that have ended and are gone (their time to live was over) stay in it.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from volcano.api import duration, phases
from volcano.api.flow import FlowCondition, FlowJobStatus, JobFlowState, JobFlowStatus, JobRunningHistory

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.api.flow import JobFlow

LISTS: Final = {
    phases.PENDING: "pending_jobs",
    phases.RUNNING: "running_jobs",
    phases.FAILED: "failed_jobs",
    phases.COMPLETED: "completed_jobs",
    phases.TERMINATED: "terminated_jobs",
}
ELSEWHERE: Final = "un_know_jobs"
UNLISTED: Final = frozenset({phases.COMPLETING, phases.TERMINATING})


def status_of(flow: JobFlow, jobs: Mapping[str, Job], now: datetime.datetime) -> JobFlowStatus:
    """The status that `jobs` make of the one the flow has; its phase stays."""
    before = flow.status
    known = {entry.name: entry for entry in before.job_status_list}
    gone = {name: phase for name, phase in ended(before).items() if name not in jobs}
    status = JobFlowStatus(state=JobFlowState(phase=before.state.phase))
    for name in sorted({*jobs, *gone}):
        job = jobs.get(name)
        phase = job.status.state.phase if job is not None else gone[name]
        if phase not in UNLISTED:
            getattr(status, LISTS.get(phase, ELSEWHERE)).append(name)
        if job is not None:
            status.job_status_list.append(_entry(job, known.get(name), now))
            status.conditions[name] = _condition(job)
            continue
        if name in known:
            status.job_status_list.append(known[name])
        if name in before.conditions:
            status.conditions[name] = before.conditions[name]
    return status


def ended(status: JobFlowStatus) -> dict[str, str]:
    """Jobs that the status knows to have come to an end, with their last phase."""
    return {
        **dict.fromkeys(status.completed_jobs, phases.COMPLETED),
        **dict.fromkeys(status.failed_jobs, phases.FAILED),
        **dict.fromkeys(status.terminated_jobs, phases.TERMINATED),
    }


def histories(job: Job, before: FlowJobStatus | None, now: datetime.datetime) -> list[JobRunningHistory]:
    """The states the job has been in; a new one ends the one before."""
    past = list(before.running_histories) if before is not None else []
    phase = job.status.state.phase
    if past and past[-1].state == phase:
        return past
    if past:
        past[-1] = JobRunningHistory(start_timestamp=past[-1].start_timestamp, end_timestamp=now, state=past[-1].state)
    return [*past, JobRunningHistory(start_timestamp=now, state=phase)]


def _entry(job: Job, before: FlowJobStatus | None, now: datetime.datetime) -> FlowJobStatus:
    created, ran = job.metadata.creation_timestamp, job.status.running_duration
    end = created + duration.parse(ran) if created is not None and ran else None
    return FlowJobStatus(
        name=job.metadata.name,
        state=job.status.state.phase,
        start_timestamp=created,
        end_timestamp=end,
        restart_count=job.status.retry_count,
        running_histories=histories(job, before, now),
    )


def _condition(job: Job) -> FlowCondition:
    return FlowCondition(
        phase=job.status.state.phase,
        create_time=job.metadata.creation_timestamp,
        running_duration=job.status.running_duration,
        task_status_count=job.status.task_status_count,
    )
