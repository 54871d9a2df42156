"""In which order victims are taken: by queue, by job, by task. Actions evict in it, and quota plugins count in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from typing import TYPE_CHECKING

from volcano.scheduler.cluster.tasks import Task

if TYPE_CHECKING:
    from volcano.scheduler.framework.session import Session


def in_victim_order(session: Session, claimant: Task, victims: Sequence[Task]) -> list[Task]:
    """Who is evicted first: other queues as they see it, then the job that is served last, then its last task."""

    def compare(left: Task, right: Task) -> int:
        return _compare_victims(session, claimant, left, right)

    return sorted(victims, key=cmp_to_key(compare))


def _compare_victims(session: Session, claimant: Task, left: Task, right: Task) -> int:
    later_first = _compare(session.task_order(right), session.task_order(left))
    left_job = session.jobs.get(left.job.key) if left.job else None
    right_job = session.jobs.get(right.job.key) if right.job else None
    if left_job is right_job:
        return later_first
    if left_job is None or right_job is None:
        return -1 if left_job is None else 1
    claimant_job = session.jobs.get(claimant.job.key) if claimant.job else None
    if claimant_job is None or left_job.queue is right_job.queue:
        by_job = _compare(session.hooks.order("job_order", right_job), session.hooks.order("job_order", left_job))
        return by_job or later_first
    by_queue = session.compare_victim_queues(left_job, right_job, claimant_job)
    return by_queue or later_first


def _compare(left: tuple[object, ...], right: tuple[object, ...]) -> int:
    if left == right:
        return 0
    return -1 if left < right else 1
