"""Placing jobs that have domains or sub-groups: the job into a domain, its sub-jobs into domains of that one.

Trials run on the live cluster and are undone; domains without room are not tried, the best ones are tried first.
Neighbours: placing.py (tasks onto nodes of one domain), worksheet.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

from volcano.scheduler.actions.placing import Placing
from volcano.scheduler.actions.worksheet import SubSheet, Worksheet
from volcano.scheduler.cluster.hypernodes import ROOT
from volcano.scheduler.cluster.jobs import Job, SubJob
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.framework.heap import Heap
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.statement import Saved, Statement


@dataclass(slots=True)
class Solution:
    """A trial that would do: what it did, what is left to place, and how good its domains are."""

    domain: str
    saved: Saved
    left: list[SubSheet]
    homes: dict[str, str] = field(default_factory=dict)
    """Domain per sub-job."""
    score: float = 0.0


class DomainSearch:
    """The search for one job."""

    def __init__(self, session: Session, queue: Queue, sheet: Worksheet) -> None:
        self.session = session
        self.queue = queue
        self.sheet = sheet
        self.job: Job = sheet.job
        self.tree = session.topology.tree

    def place(self, statement: Statement) -> bool:
        """Put the best solution into effect. False: no domain will do, and nothing has happened."""
        session = self.session
        session.topology.locate(self.job)
        for gradient in self._gradients():
            best = self._best(gradient)
            if best is not None:
                return self._adopt(best, statement)
        return False

    def _gradients(self) -> Iterator[Sequence[str]]:
        """First the domain in which room was made for this job, if it was."""
        nominated = {sheet.sub_job.nominated_hypernode for sheet in self.sheet.sheets}
        if all(domain in self.tree for domain in nominated):
            yield [reduce(self.tree.common, sorted(nominated))]
        yield from self.session.hypernode_gradients(self.job, ROOT, "allocate")

    def _best(self, domains: Sequence[str]) -> Solution | None:
        """The solution with the best domains. A job without sub-groups has the score of its own domain: the first one

        that succeeds, tried in that order, is the best.
        """
        if not self.job.policies and len(domains) > 1:
            (only,) = self.job.sub_jobs.values()
            ranked = (self._try(domain) for domain, _ in self._ranked(only, domains))
            return next((solution for solution in ranked if solution is not None), None)
        solutions = [solution for domain in domains if (solution := self._try(domain)) is not None]
        return max(solutions, key=lambda solution: solution.score, default=None)

    def _adopt(self, best: Solution, statement: Statement) -> bool:
        if statement.recover(best.saved) is not None:
            return False
        self.sheet.sheets = best.left
        self.job.allocated_hypernode = self.tree.common(self.job.allocated_hypernode, best.domain)
        for key, domain in best.homes.items():
            sub_job = self.job.sub_jobs[key]
            sub_job.allocated_hypernode = self.tree.common(sub_job.allocated_hypernode, domain)
        return True

    def _try(self, domain: str) -> Solution | None:
        """The job within one domain, sub-job by sub-job; the cluster is left as it was."""
        session, job = self.session, self.job
        before = {sub_job.key: sub_job.allocated_hypernode for sub_job in job.sub_jobs.values()}
        for task in job.pending.values():
            session.fit_errors.pop(task.uid, None)
        sheets = [SubSheet(sheet.sub_job, sheet.required, list(sheet.tasks)) for sheet in self.sheet.sheets]
        statement = session.statement()
        found = Solution(domain, Saved(()), sheets)
        waiting: Heap[SubSheet] = Heap(self._order, [sheet for sheet in sheets if sheet.tasks])
        while waiting and not (statement.operations and session.job_ready(job)):
            sheet = waiting.pop()
            score = self._place_sub_job(sheet, domain, statement)
            if score is None:
                continue
            found.score += score
            found.homes[sheet.sub_job.key] = sheet.sub_job.allocated_hypernode
            if sheet.tasks:
                waiting.push(sheet)
        done = bool(statement.operations) and (session.job_ready(job) or session.job_pipelined(job))
        found.saved = statement.save()
        if done:
            statement.rollback()
        else:
            statement.discard()
        for key, home in before.items():
            job.sub_jobs[key].allocated_hypernode = home
        return found if done else None

    def _order(self, sheet: SubSheet) -> tuple[object, ...]:
        return (not sheet.required, *self.session.sub_job_order(sheet.sub_job))

    def _place_sub_job(self, sheet: SubSheet, within: str, statement: Statement) -> float | None:
        """The sub-job into the best domain that takes it; its score, or None if there is no such domain."""
        session, sub_job = self.session, sheet.sub_job
        gradients = session.hypernode_gradients(sub_job, within, "allocate")
        nominated = sub_job.nominated_hypernode
        if nominated in self.tree and within in self.tree.ancestors(nominated):
            gradients = [[nominated], *gradients]
        for gradient in gradients:
            for domain, score in self._ranked(sub_job, gradient):
                if self._place_in(sheet, domain, statement):
                    sub_job.allocated_hypernode = self.tree.common(sub_job.allocated_hypernode, domain)
                    return score
        return None

    def _ranked(self, sub_job: SubJob, domains: Sequence[str]) -> list[tuple[str, float]]:
        """Scores do not depend on the trials, so the first success in this order is the best one."""
        scores = self.session.hypernode_scores(sub_job, {domain: self.tree[domain].rows for domain in domains})
        return sorted(scores.items(), key=lambda pair: -pair[1])

    def _place_in(self, sheet: SubSheet, domain: str, statement: Statement) -> bool:
        """Tasks onto nodes of this domain; on failure tasks and statement are as before."""
        session = self.session
        checkpoint, tasks, home = statement.checkpoint(), list(sheet.tasks), sheet.sub_job.allocated_hypernode
        nodes = None if domain == ROOT else session.mask_of(self.tree[domain].rows)
        shown = "" if domain == ROOT else domain
        placing = Placing(session, self.queue, self.job, sheet, statement, nodes, shown)
        placing.run()
        sheet.sub_job.allocated_hypernode = home
        placed = statement.checkpoint() > checkpoint
        if placed and (session.sub_job_ready(sheet.sub_job) or session.sub_job_pipelined(sheet.sub_job)):
            return True
        placing.give_up(checkpoint)
        sheet.tasks = tasks
        return False
