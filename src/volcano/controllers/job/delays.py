"""Actions that wait for a policy's timeout, per job and pod, and what makes them unnecessary.

Pure: time is a number handed in. Kept by controller.py, which asks for what is due on every reconciliation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from volcano.controllers.job.vocabulary import INTERNAL_ACTIONS, Action, EventKind

if TYPE_CHECKING:
    from volcano.controllers.job.events import Event
    from volcano.controllers.job.plan import Delayed

_POD_EVENTS = frozenset({EventKind.POD_PENDING, EventKind.POD_RUNNING, EventKind.POD_FAILED, EventKind.POD_EVICTED})
_ENDED = frozenset({EventKind.POD_FAILED, EventKind.POD_EVICTED})
_TARGETED = frozenset({Action.RESTART_TASK, Action.RESTART_POD, Action.RESTART_PARTITION})


@dataclass(frozen=True, slots=True)
class Waiting:
    due: float
    delayed: Delayed


class Delays:
    """The delayed actions of one job: at most one per pod (and one for the job as a whole)."""

    __slots__ = ("_by_pod",)

    def __init__(self) -> None:
        self._by_pod: dict[str, Waiting] = {}

    def __len__(self) -> int:
        return len(self._by_pod)

    def arm(self, delayed: Delayed, now: float) -> bool:
        """Start to wait, unless the same action waits for this pod already; another action takes its place."""
        pod = delayed.event.pod
        present = self._by_pod.get(pod)
        if present is not None and present.delayed.action == delayed.action:
            return False
        self._by_pod[pod] = Waiting(now + delayed.delay.total_seconds(), delayed)
        return True

    def saw(self, event: Event) -> None:
        """A pod got on: what was to happen if it did not is off."""
        if event.kind not in _POD_EVENTS:
            return
        waiting = self._by_pod.get(event.pod)
        if waiting is None:
            return
        cause = waiting.delayed.event
        no_longer_pending = (
            cause.kind == EventKind.POD_PENDING
            and event.kind != EventKind.POD_PENDING
            and cause.pod_uid == event.pod_uid
        )
        runs_again = cause.kind in _ENDED and event.kind == EventKind.POD_RUNNING
        if no_longer_pending or runs_again:
            del self._by_pod[event.pod]

    def acted(self, action: str, event: Event) -> None:
        """After an action, others of its level (job, task, partition, pod) have nothing left to do.

        To resume makes nothing unnecessary: what waited before the job was aborted is stale, and a job that goes on
        anyway still has its reason to act.
        """
        if action in INTERNAL_ACTIONS or action == Action.RESUME_JOB:
            return
        for pod, waiting in list(self._by_pod.items()):
            if _same_level(action, event, waiting.delayed):
                del self._by_pod[pod]

    def take_due(self, now: float) -> Iterator[Delayed]:
        for pod, waiting in list(self._by_pod.items()):
            if waiting.due <= now:
                del self._by_pod[pod]
                yield waiting.delayed

    def next_due(self) -> float | None:
        return min(waiting.due for waiting in self._by_pod.values()) if self._by_pod else None


def _same_level(action: str, event: Event, other: Delayed) -> bool:
    match action:
        case Action.RESTART_TASK:
            return other.action == action and other.event.task == event.task
        case Action.RESTART_POD:
            return other.action == action and other.event.pod == event.pod
        case Action.RESTART_PARTITION:
            same_task = other.event.task == event.task
            return other.action == action and same_task and other.event.partition == event.partition
        case _:
            return other.action not in _TARGETED
