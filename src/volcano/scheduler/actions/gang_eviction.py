"""gangpreempt and gangreclaim: room for a whole gang, taken from others in bundles that break as little as possible.

Domains are tried one after another; a plan counts only if the gang fits when it is simulated on the live cluster.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from volcano.scheduler.actions.bundles import Bundle, approved, bundles_of, ranked
from volcano.scheduler.actions.eviction import has_given, must_rest, starving_jobs
from volcano.scheduler.actions.gang_sparing import Room, Sparing
from volcano.scheduler.actions.worksheet import SubSheet, Worksheet, worksheet
from volcano.scheduler.cluster.hypernodes import ROOT
from volcano.scheduler.cluster.jobs import Job, SubJob
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import FloatVector, fits
from volcano.scheduler.cluster.tasks import PREEMPTABLE_STATUSES, Status, Task
from volcano.scheduler.framework.action import Action
from volcano.scheduler.framework.board import Board
from volcano.scheduler.framework.placement import Demand, choose
from volcano.scheduler.framework.plugin import EvictionContext
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.statement import Statement, runs

DEFAULT_DOMAINS = 8


class Arguments(msgspec.Struct, frozen=True):
    max_domains: int = msgspec.field(default=DEFAULT_DOMAINS, name="maxDomains")
    allow_whole: bool = msgspec.field(default=True, name="allowWholeBundle")


class GangEviction(Action):
    """What both actions have in common; they differ in whom they may take from."""

    Arguments = Arguments

    def __init__(self, arguments: Any) -> None:
        super().__init__(arguments)
        self.needless: list[Statement] = []
        """Claims that need no victims after all: their room is held until every job has had its turn."""

    def execute(self, session: Session) -> None:
        jobs = starving_jobs(session)
        queues = session.queue_heap(session.queues[name] for name in jobs)
        while queues:
            queue = queues.pop()
            while jobs[queue.name] and self.may_claim(session, queue):
                job = jobs[queue.name].pop()
                with session.isolated(job):
                    self._claim(session, queue, job)
        while self.needless:
            _leave_to_allocate(self.needless.pop())

    @abstractmethod
    def may_claim(self, session: Session, queue: Queue) -> bool: ...

    @abstractmethod
    def may_take(self, claimant: Job, victim: Task) -> bool: ...

    @abstractmethod
    def compare_victims(self, session: Session, claimant: Job, left: Job, right: Job) -> int:
        """Negative if `left` gives first."""

    def wants_consent(self) -> bool:
        """Whether the claimant's queue must be allowed to take from others."""
        return False

    def _claim(self, session: Session, queue: Queue, job: Job) -> None:
        if must_rest(session, job):
            return
        sheet = self._wanted(session, job)
        wanted = [task for sub_sheet in sheet.sheets for task in sub_sheet.tasks]
        if not wanted or (self.wants_consent() and not session.hooks.all("preemptive", queue, wanted)):
            return
        statement = session.statement()
        needed = np.sum([task.profile.request for task in wanted], axis=0).astype(np.float64)
        for domain in self._domains(session, job):
            if self._in_domain(session, statement, queue, sheet, needed, domain):
                break
        if not statement or not session.job_pipelined(job):
            statement.discard()
        elif not statement.evicts and self._allocate_follows(session):
            self.needless.append(statement)
        else:
            statement.commit()

    def _allocate_follows(self, session: Session) -> bool:
        actions = session.conf.actions
        return "allocate" in actions[actions.index(self.name) + 1 :]

    def _wanted(self, session: Session, job: Job) -> Worksheet:
        """All that is pending; of a job that is ready, what the next sub-job lacks."""
        sheet = worksheet(session, job)
        for sub_sheet in sheet.sheets:
            sub_sheet.tasks = [task for task in sub_sheet.tasks if not task.gated]
        sheets = [sub_sheet for sub_sheet in sheet.sheets if sub_sheet.tasks]
        return Worksheet(job, sheets[:1] if session.job_ready(job) else sheets)

    def _domains(self, session: Session, job: Job) -> list[str]:
        gradients = session.hypernode_gradients(job, ROOT, "evict")
        domains = list(dict.fromkeys(domain for gradient in gradients for domain in gradient))
        if not domains and session.topology.limit(job) is None:
            domains = [ROOT]
        most = self.arguments.max_domains if self.arguments.max_domains > 0 else DEFAULT_DOMAINS
        return domains[:most]

    def _in_domain(
        self,
        session: Session,
        statement: Statement,
        queue: Queue,
        sheet: Worksheet,
        needed: FloatVector,
        domain: str,
    ) -> bool:
        bundles = self._bundles(session, sheet.job, needed, domain)
        if not bundles:
            return False
        nodes, rows = session.nodes, session.topology.tree[domain].rows
        room = (nodes.idle[rows] + nodes.releasing[rows]).sum(axis=0, dtype=np.float64)
        victims: list[Task] = []
        trial = Trial(session, statement, queue, sheet, self.name)
        for number, bundle in enumerate(bundles, start=1):
            victims += bundle.victims
            room += np.sum([task.profile.request for task in bundle.tasks], axis=0)
            if fits(needed, room) and trial.run(victims, domain):
                trial.spare(bundles[:number], domain)
                trial.nominate()
                return True
        return False

    def _bundles(self, session: Session, claimant: Job, needed: FloatVector, domain: str) -> list[Bundle]:
        by_job: defaultdict[str, list[Task]] = defaultdict(list)
        for row in session.topology.tree[domain].rows.tolist():
            for task in session.nodes.tasks[row].values():
                if task.job is not None and task.job.key in session.jobs and self.may_take(claimant, task):
                    by_job[task.job.key].append(task)
        found = [bundle for key, tasks in by_job.items() for bundle in bundles_of(session.jobs[key], tasks)]

        def compare(left: Job, right: Job) -> int:
            return self.compare_victims(session, claimant, left, right)

        bundles = ranked(found, compare, needed)
        candidates = [
            task
            for bundle in bundles
            for task in bundle.victims
            if bundle.job.key in session.jobs and self.may_take(claimant, task)
        ]
        if not candidates:
            return []
        context = EvictionContext(self.name, claimant, domain)
        victims = session.hooks.victims("evictable", context, candidates)
        if session.job_ready(claimant):
            victims = session.hooks.beyond_shares("evictable", context, victims)
            bundles = [bundle for bundle in bundles if not (bundle.is_whole and has_given(session, bundle.job))]
        allow_whole = self.arguments.allow_whole and not claimant.fell  # or they might make each other fall in turn
        return ranked(approved(bundles, victims, allow_whole=allow_whole), compare, needed)


def _leave_to_allocate(statement: Statement) -> None:
    """Let allocate bind at once, and before others, whom the action would make wait for the next cycle."""
    homes = [(task, task.node_name) for task in statement.claimants]
    statement.rollback()
    for task, home in homes:
        task.promised = home


class Trial:
    """Evict, and see whether the gang then fits; if not, nothing has happened."""

    def __init__(self, session: Session, statement: Statement, queue: Queue, sheet: Worksheet, cause: str) -> None:
        self.session = session
        self.statement = statement
        self.queue = queue
        self.sheet = sheet
        self.cause = cause
        self.homes: dict[SubJob, str] = {}
        """Where the sub-jobs are to go."""

    def run(self, victims: Sequence[Task], domain: str) -> bool:
        session, job = self.session, self.sheet.job
        checkpoint = self.statement.checkpoint()
        self.homes = {}
        was_ready = session.job_ready(job)
        self.statement.evict(victims, self.cause)
        for sub_sheet in self.sheet.sheets:
            if not self._place_sub_job(sub_sheet, domain):
                self.statement.rollback(checkpoint)
                return False
            if was_ready or session.job_pipelined(job):
                break
        if not session.job_pipelined(job):
            self.statement.rollback(checkpoint)
            return False
        return True

    def spare(self, bundles: Sequence[Bundle], domain: str) -> None:
        """After a run that succeeded: keep its claimants, and evict nobody of the bundles whom they do not need."""
        statement, rows = self.statement, self.session.topology.tree[domain].rows
        claimants, best, homes = statement.claimants, statement.save(), self.homes
        placed = {task.uid for task in claimants}
        left = self.session.nodes.future_idle(self.session.rows[self.session.mask_of(rows)]).astype(np.float64)
        statement.rollback()

        def places(victims: Sequence[Task]) -> bool:
            nonlocal best, homes
            succeeds = self.run(victims, domain) and {task.uid for task in statement.claimants} == placed
            if succeeds:
                best, homes = statement.save(), self.homes
            statement.rollback()
            return succeeds

        victims = [task for bundle in bundles for task in bundle.victims]
        Sparing(bundles, Room(self.session, rows, claimants, victims), places).run(left)
        statement.recover(best)
        self.homes = homes

    def nominate(self) -> None:
        """Let the sub-jobs come back to where they are to go."""
        for sub_job, home in self.homes.items():
            sub_job.nominated_hypernode = home

    def _place_sub_job(self, sub_sheet: SubSheet, domain: str) -> bool:
        """All its pending members at once, into the first domain below that takes them."""
        session, sub_job = self.session, sub_sheet.sub_job
        domains = [domain]
        if session.topology.limit(sub_job) is not None:
            gradients = session.hypernode_gradients(sub_job, domain, "evict")
            domains = [name for gradient in gradients for name in gradient]
        for name in domains:
            checkpoint = self.statement.checkpoint()
            placed = self._place_all(sub_sheet.tasks[::-1], name)
            if placed and (session.sub_job_ready(sub_job) or session.sub_job_pipelined(sub_job)):
                self.homes[sub_job] = name
                return True
            self.statement.rollback(checkpoint)
        return False

    def _place_all(self, tasks: Sequence[Task], domain: str) -> bool:
        session = self.session
        among = session.mask_of(session.topology.tree[domain].rows)
        for run in runs(tasks):
            left = run
            while left:
                first = left[0]
                allowed = session.allowance(self.queue, first, len(left))
                if allowed == 0 or session.hooks.first_failure("pre_filter", first) is not None:
                    return False
                choice = choose(self._board(first), Demand(first, allowed), among)
                if choice is None:
                    return False
                count = len(choice.rows)
                if self.statement.pipeline(left[:count], choice.rows, evicted=self.statement.evicts) is not None:
                    return False
                left = left[count:]
        return True

    def _board(self, task: Task) -> Board:
        return self.session.board(task.profile)


class GangPreempt(GangEviction):
    """Within a queue: from jobs of lower priority."""

    name = "gangpreempt"

    def may_claim(self, session: Session, queue: Queue) -> bool:
        return True

    def may_take(self, claimant: Job, victim: Task) -> bool:
        job = victim.job
        return (
            job is not None
            and victim.status in PREEMPTABLE_STATUSES
            and victim.preemptable
            and job is not claimant
            and job.queue is claimant.queue
            and job.priority < claimant.priority
            and job.may_be_evicted
        )

    def compare_victims(self, session: Session, claimant: Job, left: Job, right: Job) -> int:
        first, second = session.job_order(left), session.job_order(right)
        return (first < second) - (first > second)


class GangReclaim(GangEviction):
    """From other queues, as far as those must give."""

    name = "gangreclaim"

    def may_claim(self, session: Session, queue: Queue) -> bool:
        return not session.overused(queue)

    def wants_consent(self) -> bool:
        return True

    def may_take(self, claimant: Job, victim: Task) -> bool:
        job = victim.job
        return (
            job is not None
            and victim.status is Status.RUNNING
            and victim.preemptable
            and job.queue is not None
            and job.queue is not claimant.queue
            and job.queue.reclaimable
            and job.may_be_evicted
        )

    def compare_victims(self, session: Session, claimant: Job, left: Job, right: Job) -> int:
        if left.queue is right.queue:
            return 0
        return session.compare_victim_queues(left, right, claimant)
