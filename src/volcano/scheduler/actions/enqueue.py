"""enqueue: which waiting jobs may leave Pending, so that their pods get created and placed.

Queues take turns; within a queue a job that is refused does not hold up the ones behind it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from volcano.scheduler.cluster.credit import CreditRequest, CreditRequests
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.framework.action import Action
from volcano.scheduler.framework.heap import Heap
from volcano.scheduler.framework.plugin import Plugin
from volcano.scheduler.framework.session import Session

PER_JOB: Final = ("job_enqueueable", "job_enqueued")
PARTS: Final = (1, 4, 16)
"""Where there is no room for all that a queue asks for, there may be for a part of it."""


class Enqueue(Action):
    name = "enqueue"

    def execute(self, session: Session) -> None:
        waiting: defaultdict[str, list[Job]] = defaultdict(list)
        for job in session.restless_jobs:
            if job.is_pending:
                waiting[job.queue_name].append(job)
        jobs = {queue: Heap(session.job_order, members) for queue, members in waiting.items()}
        queues = session.queue_heap(session.queues[name] for name in jobs)
        while queues:
            queue = queues.first()
            job = jobs[queue.name].pop()
            with session.isolated(job):
                self._consider(session, job)
            if not jobs[queue.name]:
                queues.drop()
        for name, request in session.cluster.index(CreditRequests).by_queue.items():
            if name in session.queues:
                session.decisions.credits[name] = _ahead(session, name, request)

    def _consider(self, session: Session, job: Job) -> None:
        """A group that does not say how much it needs is not put to the vote."""
        if job.min_resources is not None:
            permitted, reason = session.hooks.vote("job_enqueueable", job)
            if not permitted:
                if reason is not None:
                    session.refuse(job, reason)
                return
        session.hooks.notify("job_enqueued", job)
        session.admit(job)


def _ahead(session: Session, queue_name: str, request: CreditRequest) -> int:
    """How many of the podgroups that a queue expects may be let in now. None where a plugin wants to see each.

    There has to be room for as many again, and for as many of each other queue that is in a rush: none of them knows
    what the others are let in meanwhile.
    """
    asked = [(type(callback.plugin), hook) for hook in PER_JOB for callback in session.hooks.callbacks(hook)]
    dimensions = session.cluster.dimensions
    if not all(_speaks_for(kind, hook) for kind, hook in asked) or not dimensions.knows(request.each):
        return 0
    queue, each = session.queues[queue_name], dimensions.vector(request.each)
    for part in PARTS:
        groups = request.groups // part
        if session.hooks.all("admits_ahead", queue, each * (groups * (1 + request.queues))):
            return groups
    return 0


def _speaks_for(kind: type[Plugin], hook: str) -> bool:
    """Whether who wrote `admits_ahead` knew this `hook`: a plugin made out of another may have a vote of its own."""
    return issubclass(_author(kind, "admits_ahead"), _author(kind, hook))


def _author(kind: type[Plugin], method: str) -> type[object]:
    return next(one for one in kind.__mro__ if method in vars(one))
