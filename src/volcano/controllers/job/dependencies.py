"""`dependsOn`: whether the tasks that a task waits for have come far enough.

Pure. Asked by sync.py before it creates pods; a missing or unready dependency is looked at again on the next sync.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.controllers.job.pods import is_replica, task_name
from volcano.controllers.job.policies import task_named
from volcano.controllers.job.vocabulary import PodPhase

if TYPE_CHECKING:
    from volcano.api.batch import Job, TaskSpec
    from volcano.controllers.job.members import Members


def are_ready(job: Job, task: TaskSpec, members: Members) -> bool:
    depends_on = task.depends_on
    if depends_on is None or not depends_on.name:
        return True
    quorum = any if depends_on.iteration == "any" else all
    return quorum(is_ready(job, name, members) for name in depends_on.name)


def is_ready(job: Job, name: str, members: Members) -> bool:
    """As many pods succeeded or run ready as the task's `minAvailable`; without one, none are needed."""
    task = task_named(job, name)
    if task is None:
        return False
    if task.min_available is None:
        return True
    pods = members.of(task_name(task))
    ready = 0
    for member in pods.values():
        up = member.phase == PodPhase.SUCCEEDED or (member.phase == PodPhase.RUNNING and member.ready)
        ready += up and is_replica(job, task, member.name)
    return ready >= task.min_available


def obstacle(job: Job, task: TaskSpec, members: Members) -> str:
    """Why the task never starts unless somebody acts: too many pods of what it waits for have failed."""
    depends_on = task.depends_on
    if depends_on is None:
        return ""
    lost = [reason for name in depends_on.name if (reason := _loss(job, name, members))]
    if not lost or (depends_on.iteration == "any" and len(lost) < len(depends_on.name)):
        return ""
    return f"task '{task_name(task)}' will not start: {lost[0]}"


def _loss(job: Job, name: str, members: Members) -> str:
    task = task_named(job, name)
    if task is None or task.min_available is None:
        return ""
    failed = members.count(task_name(task), PodPhase.FAILED)
    if task.replicas - failed >= task.min_available:
        return ""
    return (
        f"it depends on task '{name}', where {failed} of {task.replicas} pods failed and "
        f"{task.min_available} must be ready (minAvailable): restart the job, or give that task a policy for PodFailed"
    )
