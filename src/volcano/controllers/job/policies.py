"""Which action an event asks for: commands first, then the task's policies, then the job's.

Pure. Called by machine.step before the table is consulted.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from volcano.api import duration
from volcano.controllers.job.vocabulary import Action, EventKind

if TYPE_CHECKING:
    from volcano.api.batch import Job, LifecyclePolicy, TaskSpec
    from volcano.controllers.job.events import Event

NO_DELAY = datetime.timedelta(0)

ALWAYS_SYNC = frozenset({EventKind.OUT_OF_SYNC, EventKind.COMMAND_ISSUED, EventKind.POD_RUNNING})
"""Events that policies cannot answer (PodRunning among them, though the API accepts it in a policy)."""


@dataclass(frozen=True, slots=True)
class Resolution:
    action: str
    delay: datetime.timedelta = NO_DELAY

    @property
    def delay_text(self) -> str:
        return duration.format(self.delay)


JUST_SYNC = Resolution(Action.SYNC_JOB)


def resolve(job: Job, event: Event) -> Resolution:
    if is_stale(job, event):
        return JUST_SYNC
    if event.action:
        return Resolution(event.action)
    if event.kind in ALWAYS_SYNC:
        return JUST_SYNC
    for policy in _policies(job, event.task):
        if _answers(policy, event):
            return Resolution(policy.action, delay_of(policy) or NO_DELAY)
    return JUST_SYNC


def is_stale(job: Job, event: Event) -> bool:
    """An event of a namesake's pod, or of a pod made before the last kill."""
    if event.job_uid and event.job_uid != job.metadata.uid:
        return True
    return event.version is not None and event.version < job.status.version


def task_named(job: Job, name: str) -> TaskSpec | None:
    for task in job.spec.tasks:
        if task.name == name:
            return task
    return None


def delay_of(policy: LifecyclePolicy) -> datetime.timedelta | None:
    """The policy's timeout; None when unset, zero when it cannot be read (admission refuses that)."""
    if policy.timeout is None:
        return None
    try:
        return duration.parse(policy.timeout)
    except ValueError:
        return NO_DELAY


def _policies(job: Job, task_name: str) -> Iterator[LifecyclePolicy]:
    task = task_named(job, task_name) if task_name else None
    if task is not None:
        yield from task.policies
    yield from job.spec.policies


def _answers(policy: LifecyclePolicy, event: Event) -> bool:
    named = {policy.event, *policy.events} & {event.kind, EventKind.ANY}
    if event.kind and named and (event.kind != EventKind.POD_PENDING or policy.timeout is not None):
        return True  # every pod is pending for a while: only a timeout makes that a reason to act
    return policy.exit_code is not None and policy.exit_code == event.exit_code
