"""gang: a job starts with its minimum of members, or not at all.

Registers job validity, readiness, order (jobs below their minimum first) and a veto on evictions that would break a
running gang; writes the PodGroup conditions at the end of a session.
"""

from __future__ import annotations

from collections.abc import Sequence

from volcano.api import scheduling
from volcano.scheduler.cluster.jobs import Job, SubJob
from volcano.scheduler.cluster.tasks import ALLOCATED_STATUSES, Status, Task
from volcano.scheduler.framework.decisions import Condition
from volcano.scheduler.framework.messages import job_text
from volcano.scheduler.framework.outcome import leaving_with_node
from volcano.scheduler.framework.plugin import EvictionContext, Plugin, SortKey, Vote
from volcano.scheduler.framework.reasons import Reason, Stage

READY = Condition(scheduling.SCHEDULED, "tasks in gang are ready to be scheduled")


class Gang(Plugin):
    name = "gang"
    keeps_gangs_whole = True

    def job_valid(self, job: Job) -> Reason | None:
        for role, (need, have) in job.roles_short_of("valid").items():
            return _too_few(scheduling.REASON_NOT_ENOUGH_PODS_OF_TASK, need, have, f"task {role!r}")
        for group, (need, have) in job.groups_short_of("valid").items():
            return _too_few(scheduling.REASON_NOT_ENOUGH_PODS_OF_TASK, need, have, f"sub-group {group!r}")
        if job.tally.valid < job.min_available:
            return _too_few(scheduling.REASON_NOT_ENOUGH_TASKS, job.min_available, job.tally.valid, "the job")
        return None

    def job_order(self, job: Job) -> SortKey:
        """Gangs that lost members are healed before others start, and these start before complete ones grow."""
        return 2 if job.is_ready else int(not (job.stood and job.tally.ready))

    def sub_job_order(self, sub_job: SubJob) -> SortKey:
        return sub_job.is_ready

    def job_ready(self, job: Job) -> bool:
        return job.is_ready and not job.roles_short_of("ready") and not job.groups_short_of("ready")

    def sub_job_ready(self, sub_job: SubJob) -> bool:
        return sub_job.is_ready

    def missing_members(self, job: Job) -> int:
        if job.policies:
            return 1
        roles = sum(need - have for need, have in job.roles_short_of("ready").values())
        return max(job.min_available - job.ready_count, roles)

    def job_pipelined(self, job: Job) -> Vote:
        enough = job.is_pipelined and not job.roles_short_of("pipelined") and not job.groups_short_of("pipelined")
        return Vote.PERMIT if enough else Vote.REJECT

    def sub_job_pipelined(self, sub_job: SubJob) -> Vote:
        return Vote.PERMIT if sub_job.is_pipelined else Vote.REJECT

    def job_starving(self, job: Job) -> bool:
        return job.is_starving

    def preemptable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Members beyond the minimum of their jobs."""
        left: dict[str, int] = {}
        victims = []
        for task in candidates:
            job = task.job
            if job is None or job.key not in self.session.jobs:
                continue
            ready = left.setdefault(job.key, job.tally.ready)
            if ready > job.min_available:
                left[job.key] = ready - 1
                victims.append(task)
        return victims

    reclaimable = preemptable

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Sequence[Task]:
        return candidates  # whole gangs are given up together: the bundles see to it

    def close(self) -> None:
        for job in self._jobs_to_judge():
            if job.is_ready:  # by number alone: a running job is not called unschedulable for the lack of a role
                self.session.conditions[job.key].append(READY)
            elif not self._is_only_terminating(job):
                self._declare_unschedulable(job)

    def _jobs_to_judge(self) -> list[Job]:
        """Those that changed, and those that wait; all of them where all are reported."""
        session = self.session
        if session.options.full_report:
            return [job for job in session.jobs.values() if job.tasks]
        changed = (session.jobs.get(key) for key in sorted(session.touched | session.cluster.dirty_jobs))
        waiting = (job for job in session.restless_jobs if job.pending)
        return list({job.key: job for job in (*changed, *waiting) if job is not None and job.tasks}.values())

    def _declare_unschedulable(self, job: Job) -> None:
        nearly = sum(1 for task in job.pending.values() if task.trial and task.trial[0] in ALLOCATED_STATUSES)
        missing = job.min_available - job.tally.ready - nearly
        self.session.gauge("unschedule_task_count", missing, job.name)
        text = f"{missing}/{len(job.tasks)} tasks in gang unschedulable: {job_text(self.session, job)}"
        condition = Condition(scheduling.UNSCHEDULABLE, scheduling.REASON_NOT_ENOUGH_RESOURCES, text)
        self.session.conditions[job.key].append(condition)
        self.session.job_messages[job.key] = text

    def _is_only_terminating(self, job: Job) -> bool:
        """Members that are about to leave still fill the gang, and nobody waits."""
        leaving = leaving_with_node(job)
        counts = job.tally.counts
        waits = counts[Status.PENDING] or counts[Status.PIPELINED]
        return leaving > 0 and not waits and job.tally.scheduled + leaving >= job.min_available


def _too_few(code: str, need: int, have: int, whose: str) -> Reason:
    message = f"{whose} has {have} valid pods of at least {need}"
    return Reason(Stage.GANG, code, need=need, have=have, message=message)
