"""Bundles of victims: what a job can spare without breaking, or the job as a whole.

gang_eviction.py takes bundles one after another until there is room for its claimant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key

from volcano.scheduler.cluster.jobs import Job, SubJob
from volcano.scheduler.cluster.resources import EPSILON, AnyVector, FloatVector
from volcano.scheduler.cluster.tasks import PREEMPTABLE_STATUSES, Task

_NO_LOSS = float("inf")

Compare = Callable[[Job, Job], int]


@dataclass(slots=True)
class Bundle:
    """Tasks of one job in one domain. `is_whole`: taking them breaks the job, and what it has elsewhere goes, too."""

    job: Job
    tasks: list[Task] = field(default_factory=list)
    is_whole: bool = False
    elsewhere: list[Task] = field(default_factory=list)

    @property
    def victims(self) -> list[Task]:
        return self.tasks + self.elsewhere

    def gain(self, needed: FloatVector) -> float:
        """What it brings to the claim, in proportion to what its job loses."""
        brought = _portion(_total(self.tasks), needed)
        if not self.is_whole:
            return _NO_LOSS
        lost = _portion(_total(self.job.tasks.values()), needed, capped=False)
        return brought / lost if lost > EPSILON else _NO_LOSS


def bundles_of(job: Job, tasks: Sequence[Task]) -> list[Bundle]:
    """The tasks of one job, split into those that can go safely and the rest."""
    here = {task.uid for task in tasks}
    ordered = sorted(tasks, key=lambda task: (task.priority, task.uid))
    if job.tally.ready < job.min_available:
        return [Bundle(job, ordered)]  # it is broken already: nothing is lost by taking more
    spare = _Spare(job)
    safe, rest = Bundle(job), Bundle(job, is_whole=True)
    for task in ordered:
        (safe if spare.take(task) else rest).tasks.append(task)
    if job.tally.arriving:
        rest.tasks.clear()  # it cannot be taken as a whole: who is about to start would remain
    rest.elsewhere = [
        task for task in job.tasks.values() if task.status in PREEMPTABLE_STATUSES and task.uid not in here
    ]
    return [bundle for bundle in (safe, rest) if bundle.tasks]


class _Spare:
    """How much a job can lose: members, members of each role, sub-jobs of each group."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.members = job.tally.ready - job.min_available
        self.roles: dict[str, int] = {}
        if job.enforces_roles:
            for role, minimum in job.role_minimums.items():
                tally = job.roles.get(role)
                self.roles[role] = (tally.ready + tally.best_effort_pending if tally else 0) - minimum
        self.groups: dict[str, int] = {}
        for policy in job.policies:
            ready = sum(1 for sub_job in job.sub_jobs.values() if sub_job.policy is policy and sub_job.is_ready)
            self.groups[policy.name] = ready - (policy.min_sub_groups or 0)
        self.left = {sub_job.key: sub_job.tally.ready for sub_job in job.sub_jobs.values()}
        self.broken = {sub_job.key for sub_job in job.sub_jobs.values() if not sub_job.is_ready}

    def take(self, task: Task) -> bool:
        sub_job = task.sub_job
        if sub_job is None or self.members <= 0 or self.roles.get(task.role, 1) <= 0:
            return False
        if not self._can_lose_from(sub_job):
            return False
        self.members -= 1
        if task.role in self.roles:
            self.roles[task.role] -= 1
        self._lose_from(sub_job)
        return True

    def _can_lose_from(self, sub_job: SubJob) -> bool:
        if sub_job.policy is None or sub_job.key in self.broken or self.left[sub_job.key] > sub_job.min_available:
            return True
        return self.groups[sub_job.policy.name] > 0

    def _lose_from(self, sub_job: SubJob) -> None:
        self.left[sub_job.key] -= 1
        if sub_job.policy is None or sub_job.key in self.broken:
            return
        if self.left[sub_job.key] < sub_job.min_available:
            self.broken.add(sub_job.key)
            self.groups[sub_job.policy.name] -= 1


def approved(bundles: Sequence[Bundle], victims: Sequence[Task], *, allow_whole: bool) -> list[Bundle]:
    """What the plugins give up: safe bundles as far as they agree, whole ones only if they agree entirely."""
    given_up = {task.uid for task in victims}
    refused = {bundle.job.key for bundle in bundles if any(task.uid not in given_up for task in bundle.victims)}
    kept = []
    for bundle in bundles:
        if bundle.is_whole:
            if allow_whole and bundle.job.key not in refused:
                kept.append(bundle)
        elif tasks := [task for task in bundle.tasks if task.uid in given_up]:
            kept.append(Bundle(bundle.job, tasks))
    return kept


def ranked(bundles: Iterable[Bundle], compare_jobs: Compare, needed: FloatVector) -> list[Bundle]:
    """Safe ones before whole jobs, then the less important job, then the better bargain."""

    def compare(left: Bundle, right: Bundle) -> int:
        if left.is_whole != right.is_whole:
            return 1 if left.is_whole else -1
        by_job = compare_jobs(left.job, right.job)
        if by_job:
            return by_job
        first, second = left.gain(needed), right.gain(needed)
        if first != second:
            return -1 if first > second else 1
        return -1 if _identity(left) < _identity(right) else 1

    return sorted(bundles, key=cmp_to_key(compare))


def _identity(bundle: Bundle) -> tuple[str, str, int]:
    return (bundle.job.key, bundle.tasks[0].uid, len(bundle.tasks))


def _portion(amount: AnyVector, needed: FloatVector, *, capped: bool = True) -> float:
    total = 0.0
    for have, need in zip(amount.tolist(), needed.tolist(), strict=True):
        if need > EPSILON:
            total += (min(have, need) if capped else have) / need
    return total


def _total(tasks: Iterable[Task]) -> AnyVector:
    requests = [task.profile.request for task in tasks]
    total = requests[0] * 1
    for request in requests[1:]:
        total += request
    return total
