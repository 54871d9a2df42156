"""allocate: give nodes to jobs, queue by queue and job by job; a gang gets all it needs or keeps nothing.

worksheet.py says what is open, placing.py puts tasks on nodes, framework/placement.py chooses the nodes.
"""

from __future__ import annotations

from collections import defaultdict

from volcano.scheduler.actions import backfill, promises
from volcano.scheduler.actions.domains import DomainSearch
from volcano.scheduler.actions.placing import Placing
from volcano.scheduler.actions.worksheet import Worksheet, worksheet
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.framework.action import Action, PlacingArguments
from volcano.scheduler.framework.heap import Heap
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.statement import Statement


class Allocate(Action):
    name = "allocate"
    Arguments = PlacingArguments

    def execute(self, session: Session) -> None:
        backfill.keep_promises(session)
        sheets = self._worksheets(session)
        for sheet in promises.kept(session, list(sheets.values())):
            with session.isolated(sheet.job):
                self._keep_promise(session, sheet)
            sheets[sheet.job.key] = self._left(session, sheet)
        jobs: defaultdict[str, Heap[Job]] = defaultdict(lambda: Heap(session.job_order))
        for sheet in filter(None, sheets.values()):
            jobs[sheet.job.queue_name].push(sheet.job)
        queues = session.queue_heap(session.queues[name] for name in jobs)
        while queues:
            queue = queues.first()
            waiting = jobs[queue.name]
            if not waiting or session.overused(queue):
                queues.drop()
                continue
            job = waiting.pop()
            again = False
            with session.isolated(job):
                again = self._attempt(session, queue, sheets[job.key])
            if again:
                waiting.push(job)

    def _worksheets(self, session: Session) -> dict[str, Worksheet]:
        sheets: dict[str, Worksheet] = {}
        admits = "enqueue" not in session.conf.actions
        for job in session.restless_jobs:
            if admits and job.is_pending:  # nobody else lets it in, and its pods may be made only then
                session.admit(job)
            if job.pending:
                with session.isolated(job):
                    sheet = self._worksheet(session, job)
                    if sheet:
                        sheets[job.key] = sheet
        return sheets

    def _worksheet(self, session: Session, job: Job) -> Worksheet | None:
        """What there is to place of a job that may be placed at all."""
        if job.is_pending:
            return None
        objection = session.job_valid(job) or session.topology.problem(job)
        if objection is not None:
            session.refuse(job, objection)
            return None
        return worksheet(session, job)

    def _keep_promise(self, session: Session, sheet: Worksheet) -> None:
        """Place members until none is left for whom others had to go."""
        queue = session.queues[sheet.job.queue_name]
        while promises.in_sheet(sheet) and not session.overused(queue) and self._attempt(session, queue, sheet):
            continue

    def _left(self, session: Session, sheet: Worksheet) -> Worksheet:
        """What waits for the queue's turn. A job that holds room it cannot use yet has had its turn."""
        return Worksheet(sheet.job, []) if sheet.job.tally.waiting else worksheet(session, sheet.job)

    def _attempt(self, session: Session, queue: Queue, sheet: Worksheet) -> bool:
        """One pass for one job, until it is ready. True if the job has more to place and may come again.

        What a job gets without becoming ready stays reserved for it in this session and is bound in none.
        """
        statement = session.statement()
        if session.topology.is_structured(sheet.job):
            placed = DomainSearch(session, queue, sheet).place(statement)
        else:
            placed = self._place(session, queue, sheet, statement)
        if placed and not session.job_ready(sheet.job):
            statement.keep()
            return False
        for sub_job in sheet.job.sub_jobs.values():
            sub_job.nominated_hypernode = ""  # the promise is kept, or cannot be
        if not placed:
            return False
        statement.commit()
        return bool(sheet)

    def _place(self, session: Session, queue: Queue, sheet: Worksheet, statement: Statement) -> bool:
        """A job without sub-groups and domains: its tasks onto any nodes."""
        (sub_sheet,) = sheet.sheets
        placing = Placing(session, queue, sheet.job, sub_sheet, statement)
        if placing.run():
            return True
        if session.job_ready(sheet.job) or session.job_pipelined(sheet.job):
            return True
        placing.give_up(0)
        return False
