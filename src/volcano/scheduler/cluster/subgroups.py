"""Which sub-job of its job a task belongs to (`spec.subGroupPolicy`): by selector, then by the values of label keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.scheduler.cluster.jobs import Job, SubJob
from volcano.scheduler.cluster.selectors import selects

if TYPE_CHECKING:
    from volcano.api.scheduling import SubGroupPolicySpec
    from volcano.scheduler.cluster.tasks import Task

_LONGEST_NAME = 128
_SAFE_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def join(job: Job, task: Task) -> SubJob:
    """The sub-job of `task`, made if it is the first member; the task is entered."""
    policy, values = match(job, task.pod.metadata.labels)
    if policy is None:
        key = group = job.key
    else:
        group = f"{job.key}/{policy.name}"
        key = f"{job.key}/{policy.name}-{_joined(values)}"
    sub_job = job.sub_jobs.get(key)
    if sub_job is None:
        index = int(values[0]) if values and values[0].lstrip("-").isdigit() else 0
        sub_job = job.sub_jobs[key] = SubJob(job, key, group, policy, index)
        if not job.policies:
            sub_job.tally = job.tally
        set_minimum(job, sub_job)
    sub_job.tasks[task.uid] = task
    return sub_job


def leave(task: Task) -> None:
    sub_job = task.sub_job
    if sub_job is None:
        return
    sub_job.tasks.pop(task.uid, None)
    if not sub_job.tasks:
        sub_job.job.sub_jobs.pop(sub_job.key, None)
    task.sub_job = None


def follow(job: Job) -> None:
    """The PodGroup is another object with equal policies: sub-jobs are told by identity whose they are."""
    for policy in job.policies:
        for sub_job in job.sub_jobs.values():
            if sub_job.policy == policy:
                sub_job.policy = policy


def set_minimum(job: Job, sub_job: SubJob) -> None:
    if sub_job.policy is not None:
        sub_job.min_available = sub_job.policy.sub_group_size or 1
    else:
        sub_job.min_available = 1 if job.policies else job.min_available


def match(job: Job, labels: dict[str, str]) -> tuple[SubGroupPolicySpec | None, list[str]]:
    """The first policy that takes a pod with these labels, and the values that name its sub-job.

    A policy without `matchLabelKeys` takes nobody, whatever its selector says: jobs in the field rely on it.
    """
    for policy in job.policies:
        if policy.label_selector is not None and not selects(policy.label_selector, labels):
            continue
        values = [labels.get(key, "") for key in policy.match_label_keys]
        if values and all(values):
            return policy, values
    return None, []


def _joined(values: list[str]) -> str:
    name = "-".join(values)
    return name if len(name) <= _LONGEST_NAME else _safe_encode(str(_fnv1a_32(name)))


def _fnv1a_32(text: str) -> int:
    digest = 0x811C9DC5
    for byte in text.encode():
        digest = ((digest ^ byte) * 0x01000193) & 0xFFFFFFFF
    return digest


def _safe_encode(text: str) -> str:
    return "".join(_SAFE_LETTERS[ord(letter) % len(_SAFE_LETTERS)] for letter in text)
