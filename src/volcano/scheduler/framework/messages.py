"""Texts about jobs and pods that wait, exactly as upstream words them: conditions and events are made of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.scheduling import POD_GROUP_NOT_READY, POD_GROUP_READY
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.fullness import told
from volcano.scheduler.framework.reasons import count_texts, sorted_histogram

if TYPE_CHECKING:
    from volcano.scheduler.framework.session import Session

SCHEDULABLE = "Schedulable"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"


def job_text(session: Session, job: Job) -> str:
    """What state the job's tasks are in, and where the first of them fails.

    The origin is the first failing task in task order: one and the same as long as nothing changes. Asked for when the
    actions are done; the text is made once per session.
    """
    text = session.job_texts.get(job.key)
    if text is None:
        text = session.job_texts[job.key] = _job_text(session, job)
    return text


def _job_text(session: Session, job: Job) -> str:
    counts = {**job.tally.describe(), "minAvailable": job.min_available}
    ready = POD_GROUP_READY if job.is_ready else POD_GROUP_NOT_READY
    text = f"{ready}, {sorted_histogram(counts)}"
    if job.pending:
        reasons = count_texts(_pod_reason(_status(task)) for task in job.pending.values())
        text += f"; Pending: {sorted_histogram(reasons)}"
    errors = session.fit_errors
    failing = [task for task in job.tasks.values() if task.uid in errors] if errors else ()
    if failing:
        origin = min(failing, key=lambda task: task.order)
        text += f". Origin reason is {origin.name}: {told(session, origin, errors[origin.uid])}"
    return text


def pod_verdict(session: Session, task: Task) -> tuple[str, str, str]:
    """Reason, message and nominated node of a pod's PodScheduled=False condition."""
    status, node = task.trial or (task.status, task.node_name)
    reason = _pod_reason(status)
    possibly = f"Pod {task.key} can possibly be assigned to {node}, once "
    match status:
        case Status.ALLOCATED:
            return reason, f"{possibly}minAvailable is satisfied", ""
        case Status.PIPELINED:
            nominated = node if task.evicted else task.promised  # again, until it is written
            return reason, f"{possibly}resource is released and minAvailable is satisfied", nominated
    error = session.fit_errors.get(task.uid) if status is Status.PENDING else None
    return reason, _about_job(session, task) if error is None else told(session, task, error), task.promised


def _status(task: Task) -> Status:
    """Its status, or the one that it nearly had."""
    return task.trial[0] if task.trial else task.status


def _pod_reason(status: Status) -> str:
    match status:
        case Status.ALLOCATED:
            return SCHEDULABLE
        case Status.PIPELINED | Status.PENDING:
            return UNSCHEDULABLE
    return status.title


def _about_job(session: Session, task: Task) -> str:
    key = task.job.key if task.job is not None else ""
    return session.job_messages.get(key, "")
