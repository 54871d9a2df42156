"""Placing one sub-job's tasks on nodes, until it is ready or its tasks run out."""

from __future__ import annotations

from collections.abc import Sequence

from volcano.scheduler.actions.worksheet import SubSheet
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.nodes import Mask
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.decisions import Admission
from volcano.scheduler.framework.options import QUEUE_ADMISSION_GATES
from volcano.scheduler.framework.placement import Demand, choose
from volcano.scheduler.framework.reasons import FitError, Reason
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.statement import Statement, runs


class Placing:
    """One attempt. Tasks that it looks at are consumed from the sheet: none is tried twice in one action.

    `among` restricts the nodes (a topology domain) and `hypernode` names that domain in messages.
    """

    def __init__(
        self,
        session: Session,
        queue: Queue,
        job: Job,
        sheet: SubSheet,
        statement: Statement,
        among: Mask | None = None,
        hypernode: str = "",
    ) -> None:
        self.session = session
        self.queue = queue
        self.job = job
        self.sheet = sheet
        self.statement = statement
        self.among = among
        self.hypernode = hypernode
        self.limited = session.topology.limit(sheet.sub_job) is not None
        self._failed_roles: set[str] = set()

    def run(self) -> bool:
        """True if the sub-job has become ready."""
        while self.sheet.tasks:
            before = self.statement.checkpoint()
            if not self._place_run(self._next_run()):
                return False
            placed = self.statement.checkpoint() > before
            if placed and self.session.sub_job_ready(self.sheet.sub_job):
                return True
        return False

    def give_up(self, checkpoint: int) -> None:
        """Undo what this attempt placed, and remember how far it came."""
        for operation in self.statement.operations[checkpoint:]:
            for task in operation.tasks:
                task.trial = (task.status, task.node_name)
                self.session.tried.add(task)
        self.statement.rollback(checkpoint)

    def _next_run(self) -> list[Task]:
        """Identical tasks from the top, no more than the job needs before readiness must be asked again."""
        tasks = self.sheet.tasks
        needed = self.session.missing_members(self.job)
        if needed <= 1:
            return [tasks.pop()]
        top = runs(reversed(tasks[-needed:]))[0]
        del tasks[-len(top) :]
        return top

    def _place_run(self, run: list[Task]) -> bool:
        """Place identical tasks. False: stop with this sub-job, the failure cannot be made good by its other tasks."""
        first = run[0]
        if first.gates:
            self._open_gates(run)
            return True
        if first.role and first.role in self._failed_roles:
            for task in run:
                text = f"Task {task.name} with role spec {task.role} has already predicated failed, skip"
                self.session.fit_errors[task.uid] = FitError(text=text)
            return True
        placed = 0
        while placed < len(run):
            count = self._place_some(run[placed:])
            if count is None:
                return True
            if count == 0:
                return self._failed(run[placed:])
            placed += count
        return True

    def _open_gates(self, tasks: Sequence[Task]) -> None:
        """These wait for their queue only: where it has room for them they are placed once their gate is gone."""
        session, first = self.session, tasks[0]
        allowed = session.allowance(self.queue, first, len(tasks))
        if allowed < len(tasks):
            self._record_reason(tasks[allowed:], session.quota_refusal(self.queue, first))
        if not first.asks_queue_first or not session.options.gate(QUEUE_ADMISSION_GATES, default=False):
            return
        for task in tasks[:allowed]:
            session.decisions.admissions[task.key] = Admission(task.uid, task.namespace, task.name)
        session.hooks.notify("let_out", tasks[:allowed])

    def _place_some(self, tasks: Sequence[Task]) -> int | None:
        """How many of the tasks got a node; 0 if none can, None if the queue may not take any."""
        session = self.session
        first = tasks[0]
        allowed = session.allowance(self.queue, first, len(tasks))
        if allowed == 0:
            self._record_reason(tasks, session.quota_refusal(self.queue, first))
            return None
        objection = session.hooks.first_failure("pre_filter", first)
        if objection is not None:
            self._record_reason(tasks, objection)
            return 0
        board = session.board(first.profile)
        choice = None
        if home := first.promised or first.nominated_node:
            choice = choose(board, Demand(first), self._only(home))
        if choice is None:
            wanted = 1 if self._is_homeless else allowed
            choice = choose(board, Demand(first, wanted), self.among)
        if choice is None:
            self._record(tasks, board.fit_error(self.hypernode, self.among))
            return 0
        count = len(choice.rows)
        place = self.statement.pipeline if choice.pipelined else self.statement.allocate
        refused = place(tasks[:count], choice.rows)
        if refused is not None:
            self._record_reason(tasks[:count], refused)
            return None if count == len(tasks) else count
        if self.limited:
            self._track(choice.rows)
        return count

    @property
    def _is_homeless(self) -> bool:
        """Its first member decides where the others want to be: it is placed alone."""
        return self.limited and not self.sheet.sub_job.allocated_hypernode

    def _track(self, rows: Sequence[int]) -> None:
        """The domain in which the sub-job lives, now that it has members on these nodes."""
        tree, sub_job = self.session.topology.tree, self.sheet.sub_job
        for row in dict.fromkeys(rows):
            sub_job.allocated_hypernode = tree.common(tree.lowest_of(row), sub_job.allocated_hypernode)

    def _only(self, node: str) -> Mask:
        mask = self.session.mask_of_node(node)
        return mask if self.among is None else mask & self.among

    def _record_reason(self, tasks: Sequence[Task], reason: Reason) -> None:
        self._record(tasks, FitError(text=str(reason), reason=reason))

    def _record(self, tasks: Sequence[Task], error: FitError) -> None:
        for task in tasks:
            self.session.fit_errors[task.uid] = error

    def _failed(self, tasks: Sequence[Task]) -> bool:
        """Whether the remaining tasks of the sub-job may still make the job complete."""
        first = tasks[0]
        if first.role:
            self._failed_roles.add(first.role)
        return self._may_continue()

    def _may_continue(self) -> bool:
        job, sub_job = self.job, self.sheet.sub_job
        if job.min_available == len(job.tasks) or sub_job.min_available >= len(sub_job.tasks):
            return False
        if job.policies:
            return True
        if job.min_available < sum(job.role_minimums.values()):
            hopeful = sum(tally.pending for role, tally in job.roles.items() if role not in self._failed_roles)
            return job.tally.ready + hopeful >= job.min_available
        return all(
            job.roles[role].ready + job.roles[role].best_effort_pending >= job.role_minimums[role]
            for role in self._failed_roles
            if job.role_minimums.get(role)
        )
