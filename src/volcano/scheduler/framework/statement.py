"""A statement: operations on the live cluster that are committed together or undone, bit for bit, from their journal.

All amounts are integers, so the inverse operation restores every array exactly; plugins are told both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.reasons import Reason

if TYPE_CHECKING:
    from volcano.scheduler.framework.session import Session


class Kind(Enum):
    ALLOCATE = "allocate"
    PIPELINE = "pipeline"
    EVICT = "evict"


class Operation(msgspec.Struct, frozen=True, eq=False):
    """What was done to identical tasks, and what it replaced."""

    kind: Kind
    tasks: tuple[Task, ...]
    rows: tuple[int, ...] = ()
    before: Status = Status.PENDING
    evicted: bool = False
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Saved:
    """The operations of a trial that was undone, to be done again if it proves the best."""

    operations: tuple[Operation, ...]


class Statement:
    """Operations take effect at once. Whatever is neither committed nor discarded is undone when the session closes."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.operations: list[Operation] = []

    def __bool__(self) -> bool:
        return bool(self.operations)

    @property
    def evicts(self) -> bool:
        return any(operation.kind is Kind.EVICT for operation in self.operations)

    @property
    def victims(self) -> list[Task]:
        return [task for operation in self.operations if operation.kind is Kind.EVICT for task in operation.tasks]

    @property
    def claimants(self) -> list[Task]:
        return [task for operation in self.operations if operation.kind is Kind.PIPELINE for task in operation.tasks]

    def allocate(self, tasks: Sequence[Task], rows: Sequence[int]) -> Reason | None:
        """Give idle room to identical pending tasks. A reason means that nothing happened."""
        return self._do(Operation(Kind.ALLOCATE, tuple(tasks), tuple(rows)))

    def pipeline(self, tasks: Sequence[Task], rows: Sequence[int], *, evicted: bool = False) -> Reason | None:
        """Promise identical pending tasks room that is about to become free."""
        return self._do(Operation(Kind.PIPELINE, tuple(tasks), tuple(rows), evicted=evicted))

    def evict(self, tasks: Iterable[Task], cause: str) -> None:
        """Make running tasks give back their room; they keep it until they have gone."""
        for task in tasks:
            operation = Operation(Kind.EVICT, (task,), (task.node,), before=task.status, cause=cause)
            self._do(operation)

    def checkpoint(self) -> int:
        return len(self.operations)

    def rollback(self, checkpoint: int = 0) -> None:
        """Undo, last first, everything after the checkpoint."""
        while len(self.operations) > checkpoint:
            self._undo(self.operations.pop())

    def discard(self) -> None:
        """Undo everything; what the tasks nearly got is remembered for their messages."""
        for operation in self.operations:
            for task in operation.tasks:
                task.trial = (task.status, task.node_name)
                self.session.tried.add(task)
        self.rollback()

    def commit(self) -> None:
        """Hand over: allocated tasks are bound, evictions carried out. Promises end with the session."""
        self.session.journal.decide(self.operations)
        self.operations = []

    def keep(self) -> None:
        """Neither bind nor undo: the job is not complete, but nobody else shall take its room in this session."""
        self.session.journal.hold(self.operations)
        self.operations = []

    def merge(self, other: Statement) -> None:
        self.operations += other.operations
        other.operations = []

    def save(self) -> Saved:
        return Saved(tuple(self.operations))

    def recover(self, saved: Saved) -> Reason | None:
        """Do a saved trial again; on an objection everything of it is undone."""
        checkpoint = self.checkpoint()
        for operation in saved.operations:
            reason = self._do(operation)
            if reason is not None:
                self.rollback(checkpoint)
                return reason
        return None

    # Inside

    def _do(self, operation: Operation) -> Reason | None:
        session = self.session
        cluster = session.cluster
        tasks = operation.tasks
        self.operations.append(operation)  # first, so that whatever fails can be undone
        if operation.kind is Kind.EVICT:
            cluster.restate(tasks, Status.RELEASING)
            for task in tasks:
                cluster.hide(task, -1)
            session.hooks.notify("deallocated", tasks)
        else:
            status = Status.ALLOCATED if operation.kind is Kind.ALLOCATE else Status.PIPELINED
            cluster.occupy(tasks, operation.rows, status)
            if operation.evicted:
                for task in tasks:
                    task.evicted = True
            reason = session.tell_allocated(tasks)
            if reason is not None:
                self.operations.pop()
                self._take_back(tasks)
                return reason
        return None

    def _undo(self, operation: Operation) -> None:
        session = self.session
        if operation.kind is Kind.EVICT:
            for task in operation.tasks:
                session.cluster.hide(task, 1)
            session.cluster.restate(operation.tasks, operation.before)
            session.tell_allocated(operation.tasks)
            return
        session.hooks.notify("deallocated", operation.tasks)
        self._take_back(operation.tasks)

    def _take_back(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            task.evicted = False
        self.session.cluster.vacate(tasks)


def runs(tasks: Iterable[Task]) -> list[list[Task]]:
    """Neighbouring tasks that are identical for placement, together."""
    keyed = groupby(tasks, key=_likeness)
    return [list(run) for _, run in keyed]


def _likeness(task: Task) -> tuple[object, ...]:
    return (task.profile.id, task.role, task.promised, task.nominated_node, task.gates)
