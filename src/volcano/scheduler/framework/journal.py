"""The journal of a session: which statements are open, what is held, what is decided, and how all of it is undone.

Statements write to it; at the end of a session only what was decided remains in the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from volcano.scheduler.cluster.era import Era
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.decisions import Bind, Eviction
from volcano.scheduler.framework.statement import Kind, Operation, Statement

if TYPE_CHECKING:
    from volcano.scheduler.framework.session import Session

OnCommit = Callable[[Sequence[Bind]], None]


class Journal:
    def __init__(self, session: Session, on_commit: OnCommit | None) -> None:
        self._session = session
        self._on_commit = on_commit
        self._statements: list[Statement] = []
        self._held: list[Operation] = []
        self._evicted: list[Task] = []

    def statement(self) -> Statement:
        statement = Statement(self._session)
        self._statements.append(statement)
        return statement

    @property
    def mark(self) -> int:
        """How many statements there have been: for `abandon`."""
        return len(self._statements)

    def abandon(self, mark: int) -> None:
        """Undo whatever statements since the mark have left open. Plugins are not told: one of them may have failed."""
        for statement in reversed(self._statements[mark:]):
            self._undo(statement.operations)
            statement.operations = []
        del self._statements[mark:]

    def decide(self, operations: Iterable[Operation]) -> None:
        """Make a statement's operations final."""
        decisions, cluster = self._session.decisions, self._session.cluster
        binds: list[Bind] = []
        victims: list[Task] = []
        promised: list[Task] = []
        for operation in operations:
            if operation.kind is Kind.ALLOCATE:
                cluster.restate(operation.tasks, Status.BINDING)
                binds += [self._bind(task) for task in operation.tasks]
            elif operation.kind is Kind.EVICT:
                victims += operation.tasks
                for task in operation.tasks:
                    cluster.evicting.add(task.uid)
                    decisions.evictions.append(_eviction(task, operation.cause))
                    self._session.touch(task)
            else:
                self._held.append(operation)
                promised += operation.tasks
        if victims:
            self._evicted += victims
            self._note_who_fell()
            self._note_who_gave(victims, promised)
            for task in promised:
                task.promised = task.node_name
            action = self._session.action
            decisions.transactions[action] = decisions.transactions.get(action, 0) + 1
        if binds:
            self._note_who_stands(binds)
            decisions.committed += binds
            if self._on_commit is not None:
                self._on_commit(binds)

    def _note_who_fell(self) -> None:
        """Jobs that are not complete any more for the sake of others."""
        lost = Counter(task.job for task in self._evicted if task.job is not None)
        for job, number in lost.items():
            if job.tally.ready < job.min_available <= job.tally.ready + number:
                job.fell, job.stood = True, False

    def _note_who_gave(self, victims: Sequence[Task], claimants: Sequence[Task]) -> None:
        """Jobs that have made room for another queue, or for a job that was complete and is not more important."""
        era = self._session.cluster.index(Era).number
        takers = {task.job for task in claimants if task.job is not None}
        for job in {task.job for task in victims if task.job is not None}:
            if any(_gives(job, taker) for taker in takers):
                job.gave = era

    def _note_who_stands(self, binds: Sequence[Bind]) -> None:
        for key in {bind.job for bind in binds}:
            job = self._session.jobs.get(key)
            if job is not None and job.is_ready:
                job.fell = False

    def hold(self, operations: Iterable[Operation]) -> None:
        """Keep operations in force until the session closes, and no longer."""
        self._held += operations

    def bind_allocated(self, job: Job) -> None:
        """The job has become ready: everything that was held for it is bound."""
        own = [held for held in self._held if held.kind is Kind.ALLOCATE and held.tasks[0].job is job]
        self._held = [held for held in self._held if held not in own]
        self.decide(own)

    def unhold(self, task: Task) -> bool:
        """Give up what was held for a single pipelined task; False if nothing was."""
        for number, operation in enumerate(self._held):
            if operation.kind is Kind.PIPELINE and operation.tasks == (task,):
                del self._held[number]
                statement = self.statement()
                statement.operations.append(operation)
                statement.rollback()
                return True
        return False

    def close(self) -> None:
        """Undo what was not decided and leave the cluster as the API will see it, decisions applied."""
        self.abandon(0)
        self._undo(self._held)
        self._held = []
        for task in self._evicted:
            self._session.cluster.hide(task, 1)
        self._evicted = []

    def _undo(self, operations: Sequence[Operation]) -> None:
        cluster = self._session.cluster
        for operation in reversed(operations):
            if operation.kind is Kind.EVICT:
                for task in operation.tasks:
                    cluster.hide(task, 1)
                cluster.restate(operation.tasks, operation.before)
            else:
                cluster.vacate(operation.tasks)
                for task in operation.tasks:
                    task.evicted = False

    def _bind(self, task: Task) -> Bind:
        hooks, decisions = self._session.hooks, self._session.decisions
        annotations: dict[str, str] = {}
        for callback in hooks.callbacks("bind_annotations"):
            annotations.update(callback(task))
        claims = tuple(claim for callback in hooks.callbacks("bind_claims") for claim in callback(task))
        task.trial = None
        task.promised = ""
        self._session.touch(task)
        key = task.job.key if task.job else ""
        decisions.binds[task.key] = task.node_name
        decisions.bind_order.append((task.key, task.node_name))
        return Bind(task.uid, task.namespace, task.name, task.node_name, key, annotations, claims)


def _gives(job: Job, taker: Job) -> bool:
    if taker.queue_name != job.queue_name:
        return True
    return taker is not job and taker.is_ready and taker.priority <= job.priority


def _eviction(task: Task, cause: str) -> Eviction:
    key = task.job.key if task.job else ""
    return Eviction(task.uid, task.namespace, task.name, task.node_name, key, cause)
