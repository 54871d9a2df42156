"""priority: the higher value goes first, and may evict the lower one in its queue."""

from __future__ import annotations

from collections.abc import Sequence

from volcano.scheduler.cluster.jobs import Job, SubJob
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.plugin import EvictionContext, Plugin, SortKey


class Priority(Plugin):
    name = "priority"
    protects = True

    def job_order(self, job: Job) -> SortKey:
        return -job.priority

    def task_order(self, task: Task) -> SortKey:
        return -task.priority

    def sub_job_order(self, sub_job: SubJob) -> SortKey:
        return -sub_job.priority

    def job_starving(self, job: Job) -> bool:
        """Any member without a place counts, not only those below the minimum."""
        return job.tally.ready + job.tally.waiting < len(job.tasks)

    def preemptable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        job = self._job_of(claimant)
        if job is None:
            return []
        return [task for task in candidates if self._is_below(task, claimant, job)]

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Sequence[Task]:
        if context.kind == "gangreclaim":
            return candidates
        return [task for task in candidates if (job := self._job_of(task)) and job.priority < context.job.priority]

    def _is_below(self, task: Task, claimant: Task, claimant_job: Job) -> bool:
        job = self._job_of(task)
        if job is None:
            return False
        if job is claimant_job:
            return task.priority < claimant.priority
        return job.priority < claimant_job.priority

    def _job_of(self, task: Task) -> Job | None:
        return self.session.jobs.get(task.job.key) if task.job else None
