"""What a job is doing, and what became of it: read from documents. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from volcano.api import phases
from volcano.jobs.failures import failure_text
from volcano.jobs.phases import FINISHED, phase_of
from volcano.sdk.errors import Cancelled, Evicted, Failed, JobError, TimedOut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from volcano.api.meta import JsonObject

EVICTIONS = frozenset({"Evict", "Evicted", "Preempted", "TaintManagerEviction"})
"""Reasons of events, and of pods, that were taken away."""


class Phase(StrEnum):
    """Where a job is in its life. UNSEEN: the job controller has not looked at it yet."""

    UNSEEN = ""
    PENDING = phases.PENDING
    ABORTING = phases.ABORTING
    ABORTED = phases.ABORTED
    RUNNING = phases.RUNNING
    RESTARTING = phases.RESTARTING
    COMPLETING = phases.COMPLETING
    COMPLETED = phases.COMPLETED
    TERMINATING = phases.TERMINATING
    TERMINATED = phases.TERMINATED
    FAILED = phases.FAILED


@dataclass(frozen=True)
class Status:
    """A job at one moment: its phase, and how many members are where."""

    phase: Phase
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    retries: int = 0
    message: str = ""

    @property
    def finished(self) -> bool:
        """Whether it stays as it is unless somebody resumes it."""
        return self.phase in FINISHED

    @property
    def ok(self) -> bool:
        return self.phase is Phase.COMPLETED

    def __str__(self) -> str:
        counts = {name: getattr(self, name) for name in ("pending", "running", "succeeded", "failed")}
        told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        return f"{self.phase or 'Submitted'}{f' ({told})' if told else ''}"


def status_of(job: JsonObject) -> Status:
    status = job.get("status") or {}
    return Status(
        phase=Phase(phase_of(job)),
        **{name: status.get(name) or 0 for name in ("pending", "running", "succeeded", "failed")},
        retries=status.get("retryCount") or 0,
        message=str((status.get("state") or {}).get("message") or ""),
    )


def members_of(job: JsonObject) -> list[str]:
    """The names of its pods, in order."""
    name = job["metadata"]["name"]
    tasks = (job.get("spec") or {}).get("tasks") or ()
    return [f"{name}-{task['name']}-{index}" for task in tasks for index in range(task.get("replicas") or 0)]


def worst_of(pods: Iterable[JsonObject]) -> JsonObject | None:
    """The failed pod that tells most: the one that ended first; others often fail in its wake."""
    failed = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Failed"]
    return min(failed, key=lambda pod: (_ended(pod), pod["metadata"]["name"]), default=None)


def trouble(
    job: JsonObject, pods: Sequence[JsonObject], events: Sequence[JsonObject], log: str = ""
) -> JobError | None:
    """What kept a finished job from completing; None when nothing did. `log` is the tail of its worst pod's."""
    status = status_of(job)
    name = job["metadata"]["name"]
    if status.ok:
        return None
    worst = worst_of(pods)
    if worst is None:
        if status.phase is Phase.TERMINATED and (event := _eviction(job, events)):
            return Evicted(f"{name} was evicted: {event.get('message', '')}", job=name)
        if status.phase in (Phase.TERMINATED, Phase.ABORTED):
            verb = "suspended" if status.phase is Phase.ABORTED else "cancelled"
            return Cancelled(f"{name} was {verb}", job=name)
        retried = f" after {status.retries} tries" if status.retries else ""
        return Failed(f"{name} failed{retried}; its failed pods are gone {status.message}".rstrip(), job=name)
    member, reason = worst["metadata"]["name"], (worst.get("status") or {}).get("reason", "")
    told = f"{name} failed: {failure_text(worst)}"
    if reason == "DeadlineExceeded":
        return TimedOut(f"{name} reached its time limit: {member} was ended", job=name, log=log)
    if reason in EVICTIONS:
        return Evicted(told, job=name, log=log)
    return Failed(told, job=name, log=log, member=member, exit_code=exit_code(worst))


def exit_code(pod: JsonObject) -> int | None:
    """That of the first container which failed."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        code = ((container.get("state") or {}).get("terminated") or {}).get("exitCode")
        if code:
            return int(code)
    return None


def _ended(pod: JsonObject) -> str:
    times = [
        ((container.get("state") or {}).get("terminated") or {}).get("finishedAt") or ""
        for container in (pod.get("status") or {}).get("containerStatuses") or ()
    ]
    return min(filter(None, times), default="~")


def _eviction(job: JsonObject, events: Iterable[JsonObject]) -> JsonObject | None:
    members = set(members_of(job))
    for event in events:
        if event.get("reason") in EVICTIONS and (event.get("involvedObject") or {}).get("name") in members:
            return event
    return None
