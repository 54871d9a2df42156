"""reclaim: queues that have less than they deserve take room back from queues that have more.

eviction.py finds the victims; who may claim and who must give is for the plugins to say.
"""

from __future__ import annotations

import numpy as np

from volcano.scheduler.actions.eviction import (
    Candidate,
    Search,
    candidate_nodes,
    claim_in_turn,
    commit,
    may_evict,
    starving_jobs,
)
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.action import Action, PlacingArguments
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.statement import Statement


class Reclaim(Action):
    name = "reclaim"
    Arguments = PlacingArguments

    def execute(self, session: Session) -> None:
        jobs = starving_jobs(session)
        queues = session.queue_heap(session.queues[name] for name in jobs)
        while queues:
            queue = queues.pop()
            if not jobs[queue.name] or session.overused(queue):
                continue
            job = jobs[queue.name].pop()
            with session.isolated(job):
                self._reclaim_for(session, queue, job)
            queues.push(queue)

    def _reclaim_for(self, session: Session, queue: Queue, job: Job) -> None:
        statement = session.statement()
        claim_in_turn(session, job, lambda task: self._claim(session, statement, task, queue))
        if session.job_pipelined(job):
            commit(session, statement, "reclaimable", self.name)
        else:
            statement.discard()

    def _claim(self, session: Session, statement: Statement, claimant: Task, queue: Queue) -> bool:
        if claimant.best_effort or not may_evict(claimant):
            return False  # who asks for nothing has nothing to take back, and backfill would give it away again
        if not session.hooks.all("preemptive", queue, [claimant]):
            return False
        if session.hooks.first_failure("pre_filter", claimant) is not None:
            return False
        search = Search(session, statement, claimant, queue, self.name)

        def is_candidate(task: Task) -> bool:
            return _may_be_reclaimed(session, task, queue)

        nodes = candidate_nodes(search.board) & session.mask_of(session.topology.reachable(claimant))
        for mask in session.by_preference(nodes):
            for row in np.sort(search.board.rows[mask]).tolist():
                if search.has_candidates(row, is_candidate) and self._on_node(search, row, is_candidate):
                    return True
        return False

    def _on_node(self, search: Search, row: int, is_candidate: Candidate) -> bool:
        """Where others could be asked, the claimant may also get room that needs no victim."""
        victims = search.with_consent("reclaimable", search.proposed(row, "reclaimable", is_candidate))
        if not search.suffices(row, victims):
            return False
        checkpoint = search.statement.checkpoint()
        evicted = search.make_room(row, victims, lambda: search.has_room(row) and search.is_within_quota())
        if evicted is None:
            return False
        if search.passes_filters(row) and search.claim(row, evicted):
            return True
        search.statement.rollback(checkpoint)
        return False


def _may_be_reclaimed(session: Session, task: Task, queue: Queue) -> bool:
    if task.status is not Status.RUNNING or not task.preemptable or task.job is None:
        return False
    other = task.job.queue
    return task.job.key in session.jobs and other is not None and other is not queue and other.reclaimable
