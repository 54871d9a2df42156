"""preempt: within a queue, jobs that starve take room from jobs that matter less; then, within a job, tasks do.

eviction.py finds the victims; the freed room is promised to the claimant, which is bound once they have left.
"""

from __future__ import annotations

from collections import defaultdict

import msgspec
import numpy as np

from volcano.scheduler.actions.eviction import (
    Candidate,
    Search,
    candidate_nodes,
    claim_in_turn,
    commit,
    is_evictable,
    may_evict,
    open_tasks,
)
from volcano.scheduler.actions.preempt_choice import Plan, best_plan
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.tasks import PREEMPTABLE_STATUSES, Task
from volcano.scheduler.framework.action import Action, PlacingArguments
from volcano.scheduler.framework.heap import Heap
from volcano.scheduler.framework.reasons import FITS, Reason, Stage
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.statement import Statement


class Arguments(PlacingArguments, frozen=True):
    topology_aware: bool = msgspec.field(default=False, name="enableTopologyAwarePreemption")
    workers: int = msgspec.field(default=16, name="topologyAwarePreemptWorkerNum")
    candidates_percentage: int = msgspec.field(default=10, name="minCandidateNodesPercentage")
    candidates_at_least: int = msgspec.field(default=1, name="minCandidateNodesAbsolute")
    candidates_at_most: int = msgspec.field(default=100, name="maxCandidateNodesAbsolute")


class Preempt(Action):
    name = "preempt"
    Arguments = Arguments

    def execute(self, session: Session) -> None:
        claimants: defaultdict[str, list[Job]] = defaultdict(list)
        for job in session.restless_jobs:
            if job.pending and not job.is_pending and not job.has_topology and _may_claim(session, job):
                claimants[job.queue_name].append(job)
        queues = session.queue_heap(session.queues[name] for name in claimants)
        while queues:
            queue = queues.pop()
            self._between_jobs(session, queue, claimants[queue.name])
            for job in claimants[queue.name]:
                with session.isolated(job):
                    self._within_job(session, queue, job)

    def _between_jobs(self, session: Session, queue: Queue, claimants: list[Job]) -> None:
        """A job's evictions are carried out only if all its claims together make it whole."""
        jobs = Heap(session.job_order, claimants)
        while jobs:
            job = jobs.pop()
            with session.isolated(job):
                self._for_job(session, queue, job)

    def _for_job(self, session: Session, queue: Queue, job: Job) -> None:
        statement = session.statement()
        claim_in_turn(session, job, lambda task: self._claim(session, statement, task, queue, other_jobs=True))
        if session.job_pipelined(job):
            commit(session, statement, "preemptable", self.name)
        else:
            statement.discard()
            _note_obstacle(session, queue, job)

    def _within_job(self, session: Session, queue: Queue, job: Job) -> None:
        """One task after the other, until one finds no place; nothing counts before the job is whole."""
        tasks = open_tasks(session, list(job.pending.values()))
        statement = session.statement()
        while tasks and self._claim(session, statement, tasks.pop(), queue, other_jobs=False):
            if session.job_pipelined(job):
                statement.commit()
        statement.discard()

    def _claim(self, session: Session, statement: Statement, claimant: Task, queue: Queue, *, other_jobs: bool) -> bool:
        """Find a node for the claimant, evicting as few others as it takes."""
        if not _is_eligible(session, claimant) or session.hooks.first_failure("pre_filter", claimant) is not None:
            return False
        search = Search(session, statement, claimant, queue, self.name)

        def is_candidate(task: Task) -> bool:
            if not is_evictable(task, claimant) or task.job is None or task.job.queue is not queue:
                return False
            return (task.job is not claimant.job) is other_jobs

        for mask in session.by_preference(candidate_nodes(search.board)):
            positions = np.flatnonzero(mask)
            if not len(positions):
                continue
            scores, rows = search.board.scores(mask)[positions], search.board.rows[positions]
            rows = rows[np.lexsort((rows, -scores))].tolist()  # the first of equals, as reclaim tries them
            if self.arguments.topology_aware:
                plan = best_plan(search, rows, self._wanted(len(rows)), is_candidate)
                if plan is not None and self._carry_out(search, plan):
                    return True
            elif any(self._on_node(search, row, is_candidate) for row in rows):
                return True
        return False

    def _on_node(self, search: Search, row: int, is_candidate: Candidate) -> bool:
        victims = search.proposed(row, "preemptable", is_candidate)
        if not search.suffices(row, victims):
            return False
        checkpoint = search.statement.checkpoint()
        evicted = search.make_room(row, victims, lambda: search.fits(row))
        if evicted is None:
            return False
        if search.claim(row, evicted):
            return True
        search.statement.rollback(checkpoint)
        return False

    def _carry_out(self, search: Search, plan: Plan) -> bool:
        checkpoint = search.statement.checkpoint()
        search.statement.evict(plan.victims, self.name)
        if search.claim(plan.row, plan.victims):
            return True
        search.statement.rollback(checkpoint)
        return False

    def _wanted(self, nodes: int) -> int:
        """How many nodes with a plan are compared."""
        arguments = self.arguments
        wanted: int = max(nodes * arguments.candidates_percentage // 100, arguments.candidates_at_least)
        return int(min(wanted, arguments.candidates_at_most, nodes))


def _note_obstacle(session: Session, queue: Queue, job: Job) -> None:
    """Where all that runs in the queue is as important as the job, say so."""
    others = [
        other
        for other in queue.jobs.values()
        if other is not job and any(task.status in PREEMPTABLE_STATUSES for task in other.tasks.values())
    ]
    if others and all(other.priority >= job.priority for other in others):
        least = min(others, key=lambda other: other.priority)
        text = f"no job that runs in queue {queue.name!r} is less important: {least.key} has priority {least.priority}"
        session.obstacles[job.key] = Reason(
            Stage.QUEUE, "PriorityTooLow", need=least.priority + 1, have=job.priority, blocker=least.key, message=text
        )


def _may_claim(session: Session, job: Job) -> bool:
    return session.job_starving(job) and session.job_valid(job) is None


def _is_eligible(session: Session, claimant: Task) -> bool:
    """A pod that has been promised a node waits for it, unless that promise cannot be kept any more."""
    if not may_evict(claimant):
        return False
    if not claimant.nominated_node:
        return True
    row = session.nodes.row_of.get(claimant.nominated_node)
    if row is None:
        return False
    board = session.board(claimant.profile)
    board.refresh()
    code = int(board.codes[session.positions_of(np.array([row]))[0]])
    if code == FITS:
        return False
    if not session.refusals[code].resolvable:
        return True
    return not any(_makes_way(task, claimant) for task in session.nodes.tasks[row].values())


def _makes_way(task: Task, claimant: Task) -> bool:
    """A less important pod there is leaving on the scheduler's word."""
    pod = task.pod
    if task.priority >= claimant.priority or pod.metadata.deletion_timestamp is None:
        return False
    return any(
        (c.type, c.status, c.reason) == ("DisruptionTarget", "True", "PreemptionByScheduler")
        for c in pod.status.conditions
    )
