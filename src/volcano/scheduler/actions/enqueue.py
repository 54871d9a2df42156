"""enqueue: which waiting jobs may leave Pending, so that their pods get created and placed.

Queues take turns; within a queue a job that is refused does not hold up the ones behind it.
"""

from __future__ import annotations

from collections import defaultdict

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.framework.action import Action
from volcano.scheduler.framework.heap import Heap
from volcano.scheduler.framework.session import Session


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
