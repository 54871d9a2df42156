"""backfill: pods that ask for nothing take any node that lets them in.

allocate.py begins with those of them for whom others had to go.
"""

from __future__ import annotations

from collections import defaultdict

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.nodes import Mask
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.action import Action, PlacingArguments
from volcano.scheduler.framework.placement import Demand, choose
from volcano.scheduler.framework.reasons import FitError
from volcano.scheduler.framework.session import Session


class Backfill(Action):
    name = "backfill"
    Arguments = PlacingArguments

    def execute(self, session: Session) -> None:
        waiting: defaultdict[str, list[Job]] = defaultdict(list)
        for job in session.restless_jobs:
            open_tasks = job.tally.best_effort_pending or job.tally.waiting
            if open_tasks and _may_start(session, job):
                waiting[job.queue_name].append(job)
        queues = sorted((session.queues[name] for name in waiting), key=session.queue_order)
        jobs = [job for queue in queues for job in sorted(waiting[queue.name], key=session.job_order)]
        for job in sorted(jobs, key=lambda job: not _has_promises(job)):
            with session.isolated(job):
                for task in sorted(self._tasks(session, job), key=session.task_order):
                    _place(session, job, task)

    def _tasks(self, session: Session, job: Job) -> list[Task]:
        """Pending best-effort members, and pipelined ones: those need not wait, but where others go for them."""
        for task in [task for task in job.tasks.values() if task.status is Status.PIPELINED and task.best_effort]:
            if not task.evicted:
                session.journal.unhold(task)
        return _open_tasks(session, job)


def keep_promises(session: Session) -> None:
    """Pods that ask for nothing take the places that others have left for them, before anybody else may."""
    jobs = [job for job in session.restless_jobs if job.tally.best_effort_pending and _has_promises(job)]
    for job in sorted((job for job in jobs if _may_start(session, job)), key=session.job_order):
        with session.isolated(job):
            for task in sorted(_open_tasks(session, job), key=session.task_order):
                if task.promised:
                    _place(session, job, task, session.mask_of_node(task.promised))


def _may_start(session: Session, job: Job) -> bool:
    return not job.is_pending and session.job_valid(job) is None


def _open_tasks(session: Session, job: Job) -> list[Task]:
    return [task for task in job.pending.values() if task.best_effort and not task.gated and not session.rests(task)]


def _place(session: Session, job: Job, task: Task, among: Mask | None = None) -> None:
    objection = session.hooks.first_failure("pre_filter", task)
    if objection is not None:
        session.fit_errors[task.uid] = FitError(text=str(objection), reason=objection)
        return
    board = session.board(task.profile)
    choice = choose(board, Demand(task, can_wait=False), among)
    if choice is None:
        session.fit_errors[task.uid] = board.fit_error()
        return
    statement = session.statement()
    refused = statement.allocate((task,), choice.rows)
    if refused is not None:
        session.fit_errors[task.uid] = FitError(text=str(refused), reason=refused)
        return
    statement.keep()
    if session.job_ready(job):
        session.journal.bind_allocated(job)


def _has_promises(job: Job) -> bool:
    """Others were evicted for it (see promises.py)."""
    return any(task.promised for task in job.tasks.values())
