"""The one victim search behind every action that evicts: propose, check cheaply, simulate on the statement, accept.

A plan is accepted only if the claimant is placed, and names no victim that it could do without.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from volcano.scheduler.cluster.era import Era
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.nodes import Mask
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import fits
from volcano.scheduler.cluster.tasks import PREEMPTABLE_STATUSES, Status, Task
from volcano.scheduler.framework.board import Board
from volcano.scheduler.framework.heap import Heap
from volcano.scheduler.framework.reasons import FITS
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.statement import Statement
from volcano.scheduler.framework.victims import in_victim_order

Candidate = Callable[[Task], bool]
Accepts = Callable[[], bool]


def starving_jobs(session: Session) -> dict[str, Heap[Job]]:
    """By queue, the jobs that are below their minimum and may claim room, the first to be served on top."""
    claimants: defaultdict[str, list[Job]] = defaultdict(list)
    for job in session.restless_jobs:
        if job.pending and not job.is_pending and session.job_starving(job) and session.job_valid(job) is None:
            claimants[job.queue_name].append(job)
    return {name: Heap(session.job_order, jobs) for name, jobs in claimants.items()}


def open_tasks(session: Session, tasks: Sequence[Task]) -> list[Task]:
    """Pending tasks that may claim room, the first of them last."""
    return sorted((task for task in tasks if not task.gated), key=session.task_order, reverse=True)


def claim_in_turn(session: Session, job: Job, attempt: Callable[[Task], bool]) -> None:
    """Claim room for one task after the other, while the job starves.

    Who is like somebody that has just failed is not tried: nothing has changed since.
    """
    tasks = [task for task in open_tasks(session, list(job.pending.values())) if may_evict(task)]
    failed: set[tuple[object, ...]] = set()
    while tasks and session.job_starving(job) and not must_rest(session, job):
        claimant = tasks.pop()
        likeness = (claimant.profile.id, claimant.role, claimant.priority, claimant.nominated_node)
        if likeness in failed:
            continue
        if attempt(claimant):
            failed.clear()
        else:
            failed.add(likeness)


def must_rest(session: Session, job: Job) -> bool:
    """It is complete, and has given room to others: it takes none until the cluster changes from outside."""
    return has_given(session, job) and session.job_pipelined(job)


def has_given(session: Session, job: Job) -> bool:
    return job.gave == session.cluster.index(Era).number


def may_evict(task: Task) -> bool:
    return task.pod.spec.preemption_policy != "Never"


def candidate_nodes(board: Board) -> Mask:
    """Nodes that take the claimant now, or might once somebody has left."""
    board.refresh()
    return ~board.session.refusals.unresolvable(board.codes)


class Search:
    """Looks for victims on single nodes, on behalf of one claimant, within the caller's statement."""

    def __init__(self, session: Session, statement: Statement, claimant: Task, queue: Queue, cause: str) -> None:
        self.session = session
        self.statement = statement
        self.claimant = claimant
        self.queue = queue
        self.cause = cause
        self.board = session.board(claimant.profile)

    def has_candidates(self, row: int, is_candidate: Candidate) -> bool:
        return any(is_candidate(task) for task in self.session.nodes.tasks[row].values())

    def proposed(self, row: int, hook: str, is_candidate: Candidate) -> list[Task]:
        """Whom the plugins give up on this node, in victim order."""
        candidates = [task for task in self.session.nodes.tasks[row].values() if is_candidate(task)]
        if not candidates:
            return []
        victims = in_victim_order(
            self.session, self.claimant, self.session.hooks.victims(hook, self.claimant, candidates)
        )
        return self._without_indispensable(hook, victims) if keeps_gangs_whole(self.session, hook) else victims

    def _without_indispensable(self, hook: str, victims: Sequence[Task]) -> list[Task]:
        """Without those whose gang would be broken, and cannot be given up as a whole either."""
        lost: Counter[str] = Counter()
        kept = []
        for task in victims:
            job = _job_of(task)
            is_safe = _can_spare(job, lost[job.key]) or job is self.claimant.job
            if is_safe or _can_fall(self.session, hook, self.claimant, job):
                kept.append(task)
                lost[job.key] += 1
        return kept

    def with_consent(self, hook: str, victims: Sequence[Task]) -> list[Task]:
        """Without those whom the claimant's job may not take, so that claims come to an end (docs/concepts.md).

        A job that is complete takes what queues hold beyond their shares, and makes nobody fall who has given already.
        One that is not makes others fall, if it must, unless it has fallen itself; then it takes what others can spare.
        """
        session, job = self.session, _job_of(self.claimant)
        if session.job_pipelined(job):
            beyond = session.hooks.beyond_shares(hook, self.claimant, list(victims))
            return _whoever_may_fall(beyond, lambda other: not has_given(session, other))
        return _whoever_may_fall(victims, lambda _: not job.fell)

    def suffices(self, row: int, victims: Sequence[Task]) -> bool:
        """Whether the node has room enough if all of them leave."""
        room = self.session.nodes.future_idle(np.array([row]))[0]
        for task in victims:
            room = room + task.profile.request
        return fits(self.claimant.profile.request, room)

    def fits(self, row: int) -> bool:
        """Whether the claimant fits here now: room, filters, and its queue's quota."""
        return self.is_within_quota() and self.has_room(row) and self.passes_filters(row)

    def is_within_quota(self) -> bool:
        return self.session.allowance(self.queue, self.claimant, 1) > 0

    def has_room(self, row: int) -> bool:
        return fits(self.claimant.profile.request, self.session.nodes.future_idle(np.array([row]))[0])

    def passes_filters(self, row: int) -> bool:
        self.board.refresh()
        position = self.session.positions_of(np.array([row]))
        return bool(len(position)) and int(self.board.codes[position[0]]) == FITS

    def make_room(self, row: int, victims: Sequence[Task], accepts: Accepts) -> list[Task] | None:
        """Evict one after another until the claimant is accepted, then spare whoever was not needed.

        None, and nothing has happened, if evicting all of them is not enough.
        """
        checkpoint = self.statement.checkpoint()
        evicted: list[Task] = []
        for victim in victims:
            if accepts():
                break
            self.statement.evict([victim], self.cause)
            evicted.append(victim)
        if not accepts():
            self.statement.rollback(checkpoint)
            return None
        return self._spare(checkpoint, evicted, accepts)

    def _spare(self, checkpoint: int, evicted: list[Task], accepts: Accepts) -> list[Task]:
        """The last one was needed; of the others, the more important are spared first."""
        needed = evicted
        for victim in reversed(evicted[:-1]):
            fewer = [task for task in needed if task is not victim]
            self._evict_only(checkpoint, fewer)
            if accepts():
                needed = fewer
            else:
                self._evict_only(checkpoint, needed)
        return needed

    def _evict_only(self, checkpoint: int, victims: Sequence[Task]) -> None:
        self.statement.rollback(checkpoint)
        self.statement.evict(victims, self.cause)

    def claim(self, row: int, victims: Sequence[Task]) -> bool:
        """Promise the room to the claimant."""
        return self.statement.pipeline([self.claimant], [row], evicted=bool(victims)) is None


def keeps_gangs_whole(session: Session, hook: str) -> bool:
    return any(callback.plugin.keeps_gangs_whole for callback in session.hooks.callbacks(hook))


def commit(session: Session, statement: Statement, hook: str, cause: str) -> None:
    """Carry the evictions out, and evict what is left of a gang that they break: it is of no use any more.

    Where somebody in it has come to be protected, nothing is carried out.
    """
    if keeps_gangs_whole(session, hook):
        lost = Counter(task.job for task in statement.victims if task.job is not None)
        for job, number in lost.items():
            if 0 < job.tally.ready < job.min_available <= job.tally.ready + number:
                if not _can_fall(session, hook, statement.claimants[0], job):
                    statement.discard()
                    return
                statement.evict(_holding(job), cause)
    if statement.evicts:
        for claiming in {task.job: None for task in statement.claimants if task.job is not None}:
            session.topology.nominate(claiming)
    statement.commit()


def _can_spare(job: Job, lost: int) -> bool:
    """Whether it loses nothing by one more member gone: it stays complete, or was not."""
    return job.tally.ready - lost > job.min_available or job.tally.ready < job.min_available


def _whoever_may_fall(victims: Sequence[Task], may_fall: Callable[[Job], bool]) -> list[Task]:
    """Of the other jobs only what they can spare."""
    lost: Counter[str] = Counter()
    kept = []
    for task in victims:
        job = _job_of(task)
        if may_fall(job) or _can_spare(job, lost[job.key]):
            kept.append(task)
            lost[job.key] += 1
    return kept


def _job_of(task: Task) -> Job:
    assert task.job is not None, f"{task.key} claims or is claimed, and belongs to no job"
    return task.job


def _can_fall(session: Session, hook: str, claimant: Task, job: Job) -> bool:
    """Nobody protects any of its members, and none is about to start."""
    if job.tally.arriving:
        return False
    members = _holding(job)
    given_up = session.hooks.unprotected(hook, claimant, members)
    return len(given_up) == len(members) and all(task.preemptable for task in members)


def _holding(job: Job) -> list[Task]:
    return [task for task in job.tasks.values() if task.status in PREEMPTABLE_STATUSES]


def is_evictable(task: Task, claimant: Task) -> bool:
    """What holds for victims of every action: on a node, allowed to be evicted, and not worth more than the claim."""
    return task.preemptable and task.status in (Status.BOUND, Status.RUNNING) and _is_worth(task, claimant)


def _is_worth(task: Task, claimant: Task) -> bool:
    """A pod that asks for nothing is no reason to evict one that does."""
    return not claimant.best_effort or task.best_effort
