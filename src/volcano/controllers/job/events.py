"""What happened to a job: changes of pods, podgroups, jobs and commands, as events the policies can answer.

Pure. Fed by mailroom.py from watch callbacks; read by policies.py and machine.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from volcano.controllers.job.pods import is_replica
from volcano.controllers.job.vocabulary import (
    DEFAULT_MAX_RETRY,
    NEVER_RETRY_LIMIT,
    Action,
    EventKind,
    PodPhase,
)

if TYPE_CHECKING:
    from volcano.api.batch import Job, TaskSpec
    from volcano.controllers.job.members import Member, Members


class Event(Struct, frozen=True, gc=False):
    """One happening. `version` is the job version the pod was made for; None skips the staleness check."""

    kind: str = EventKind.OUT_OF_SYNC
    action: str = ""
    task: str = ""
    pod: str = ""
    pod_uid: str = ""
    partition: str = ""
    exit_code: int = 0
    job_uid: str = ""
    command: str = ""
    """UID of the Command that asks for the action."""
    version: int | None = None


SYNC = Event()


def command_issued(action: str, command: str = "") -> Event:
    return Event(EventKind.COMMAND_ISSUED, action=action, command=command)


def job_changed(old: Job, new: Job) -> Event | None:
    """An edit of the specification or a new phase; our own count updates are no news."""
    if old.metadata.resource_version == new.metadata.resource_version:
        return None
    if old.spec == new.spec and old.status.state.phase == new.status.state.phase:
        return None
    return SYNC


def tasks_scaled_to_their_end(old: Job, new: Job, members: Members) -> Iterator[Event]:
    """Tasks that are complete because an edit took away the replicas that were not."""
    before = {task.name: task.replicas for task in old.spec.tasks}
    for task in new.spec.tasks:
        if not 0 < task.replicas < before.get(task.name, 0):
            continue
        done = [one for one in members.of(task.name).values() if one.standing == PodPhase.SUCCEEDED]
        kept = [one for one in done if is_replica(new, task, one.name)]
        if len(done) < before[task.name] and len(kept) == task.replicas:
            yield _pod_event(EventKind.TASK_COMPLETED, max(kept, key=lambda one: one.version))


def podgroup_changed(old_phase: str, new_phase: str) -> Event | None:
    if old_phase == new_phase:
        return None
    return Event(EventKind.UNKNOWN if new_phase == "Unknown" else EventKind.NONE)


def pod_added(member: Member, members: Members, task: TaskSpec | None) -> Event:
    """A pod seen for the first time, perhaps because this process is new: its phase is the news."""
    if member.out_of_sync:
        return _pod_event(EventKind.OUT_OF_SYNC, member)
    if member.phase == PodPhase.FAILED:
        return _pod_event(EventKind.POD_FAILED, member)
    if member.phase == PodPhase.SUCCEEDED:
        done = _task_completed(member, members, task)
        return _pod_event(EventKind.TASK_COMPLETED if done else EventKind.OUT_OF_SYNC, member)
    if member.phase == PodPhase.RUNNING:
        return _pod_event(EventKind.POD_RUNNING, member)
    if member.phase == PodPhase.UNKNOWN:  # it runs perhaps, on a node that is silent: it does not wait for one
        return _pod_event(EventKind.OUT_OF_SYNC, member)
    return _pod_event(EventKind.POD_PENDING, member)


def pod_updated(old: Member, new: Member, members: Members, task: TaskSpec | None) -> Event:
    """`members` holds `new` already."""
    if new.out_of_sync:
        return _pod_event(EventKind.OUT_OF_SYNC, new)
    kind = EventKind.OUT_OF_SYNC
    if new.phase in {PodPhase.PENDING, PodPhase.RUNNING} and _restarts_exhausted(new, members, task):
        kind = EventKind.TASK_FAILED
    if new.phase != old.phase:
        if new.phase == PodPhase.FAILED:
            kind = EventKind.POD_FAILED
        elif new.phase == PodPhase.SUCCEEDED and _task_completed(new, members, task):
            kind = EventKind.TASK_COMPLETED
        elif new.phase == PodPhase.RUNNING:
            kind = EventKind.POD_RUNNING
        elif new.phase == PodPhase.PENDING:
            kind = EventKind.POD_PENDING
    return _pod_event(kind, new)


def pod_deleted(member: Member, *, known: bool) -> Event:
    expected = member.out_of_sync or not known
    return _pod_event(EventKind.OUT_OF_SYNC if expected else EventKind.POD_EVICTED, member)


def action_only(action: Action) -> Event:
    """An order of the controller itself."""
    return Event(EventKind.NONE, action=action)


def _pod_event(kind: EventKind, member: Member) -> Event:
    return Event(
        kind,
        task=member.task,
        pod=member.name,
        pod_uid=member.uid,
        partition=member.partition,
        exit_code=member.exit_code if kind == EventKind.POD_FAILED else 0,
        job_uid=member.job_uid,
        version=member.version,
    )


def _task_completed(member: Member, members: Members, task: TaskSpec | None) -> bool:
    if task is None or task.replicas <= 0:
        return False
    return members.count(member.task, PodPhase.SUCCEEDED) >= task.replicas


def _restarts_exhausted(member: Member, members: Members, task: TaskSpec | None) -> bool:
    if task is None or task.max_retry == NEVER_RETRY_LIMIT:
        return False
    limit = task.max_retry or DEFAULT_MAX_RETRY
    if member.restarts == 0 and limit > 0:
        return False
    return members.restarts(member.task) >= limit
