"""What allocate has still to place of one job: its sub-jobs, each with its tasks in order."""

from __future__ import annotations

from dataclasses import dataclass, field

from volcano.scheduler.cluster.jobs import Job, SubJob
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.session import Session


@dataclass(slots=True)
class SubSheet:
    """One sub-job's open tasks; the next one is last, so that taking it is cheap."""

    sub_job: SubJob
    required: bool
    tasks: list[Task] = field(default_factory=list)


@dataclass(slots=True)
class Worksheet:
    job: Job
    sheets: list[SubSheet]

    def __bool__(self) -> bool:
        for sheet in self.sheets:  # noqa: SIM110 - asked for every job, often
            if sheet.tasks:
                return True
        return False


def worksheet(session: Session, job: Job) -> Worksheet:
    """Open tasks that allocate may place: pending, asking for something, not held back by a gate.

    Required sub-jobs come first: as many as each group still lacks.
    """
    tasks = [task for task in job.pending.values() if _is_open(task) and not session.rests(task)]
    if not tasks:
        return Worksheet(job, [])
    if len(tasks) > 1:
        tasks.sort(key=session.task_order, reverse=True)
    required = _required(session, job) if job.policies else frozenset()
    sheets: dict[str, SubSheet] = {}
    for task in tasks:
        sub_job = task.sub_job
        assert sub_job is not None, f"{task.key} is a member of {job.key} and of no sub-job"
        sheet = sheets.get(sub_job.key)
        if sheet is None:
            sheet = sheets[sub_job.key] = SubSheet(sub_job, sub_job.key in required)
        sheet.tasks.append(task)
    ordered = list(sheets.values())
    if len(ordered) > 1:
        ordered.sort(key=lambda sheet: (not sheet.required, session.sub_job_order(sheet.sub_job)))
    return Worksheet(job, ordered)


def _is_open(task: Task) -> bool:
    return not task.best_effort and (not task.gates or task.waits_for_queue_only)


def _required(session: Session, job: Job) -> frozenset[str]:
    """Keys of the sub-jobs that their groups' minimum is missing."""
    required: list[str] = []
    for policy in job.policies:
        members = [sub_job for sub_job in job.sub_jobs.values() if sub_job.policy is policy]
        unready = [sub_job for sub_job in members if not session.sub_job_ready(sub_job)]
        missing = (policy.min_sub_groups or 0) - (len(members) - len(unready))
        unready.sort(key=session.sub_job_order)
        required += [sub_job.key for sub_job in unready[: max(missing, 0)]]
    return frozenset(required)
