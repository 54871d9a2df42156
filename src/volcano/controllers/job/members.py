"""The pods of one job as the machine sees them: one small record each, with running counts per task.

Filled by mailroom.py from the watch and by perform.py from its writes; read by events.py and machine.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from volcano.api import keys
from volcano.api.meta import controller_of
from volcano.controllers.job.vocabulary import FINISHED_PODS, PodPhase

if TYPE_CHECKING:
    from volcano.api.core import Pod
    from volcano.api.meta import OwnerReference
    from volcano.controllers.views import PodView

TERMINATING = "Terminating"
"""How a pod counts once its deletion has begun, whatever its phase says."""

NO_VERSION = -1


class NotAMember(ValueError):
    """A pod whose annotations do not say which task of which job it is."""


class Member(Struct, frozen=True, gc=False, kw_only=True):
    name: str
    task: str
    phase: str = PodPhase.PENDING
    uid: str = ""
    job_uid: str = ""
    version: int = NO_VERSION
    partition: str = ""
    terminating: bool = False
    out_of_sync: bool = False
    ready: bool = False
    restarts: int = 0
    exit_code: int = 0

    @property
    def standing(self) -> str:
        """What the pod counts as."""
        return TERMINATING if self.terminating else self.phase

    @property
    def finished(self) -> bool:
        return self.phase in FINISHED_PODS


_UNFINISHED = frozenset({PodPhase.PENDING, PodPhase.RUNNING})
_PHASES: Mapping[str, str] = {phase.value: phase.value for phase in PodPhase}


def member_of(pod: Pod | PodView, owner: OwnerReference | None = None) -> Member:
    """The record of a pod made for a job; raises `NotAMember` when its annotations are incomplete.

    `owner` is its controller, if the caller knows.
    """
    meta, status = pod.metadata, pod.status
    annotations = meta.annotations
    task = annotations.get(keys.TASK_SPEC)
    if task is None:
        raise NotAMember(f"failed to find taskName of Pod <{meta.namespace}/{meta.name}>")
    if keys.JOB_VERSION not in annotations:
        raise NotAMember(f"failed to find jobVersion of Pod <{meta.namespace}/{meta.name}>")
    owner = owner or controller_of(meta)
    initial, containers = status.init_container_statuses, status.container_statuses
    ended = containers[0].state.terminated if containers else None
    return Member(
        name=meta.name,
        task=task,
        phase=_PHASES.get(status.phase, PodPhase.UNKNOWN if status.phase else PodPhase.PENDING),
        uid=meta.uid,
        job_uid=owner.uid if owner else "",
        version=_number(annotations[keys.JOB_VERSION]),
        partition=meta.labels.get(keys.PARTITION_ID, ""),
        terminating=meta.deletion_timestamp is not None,
        out_of_sync=keys.CONTROLLER_OUT_OF_SYNC in annotations,
        ready=not containers or all(container.ready for container in containers),
        restarts=sum([container.restart_count for container in (*initial, *containers)]),
        exit_code=ended.exit_code if ended else 0,
    )


class TaskPods:
    """The pods of one task, by name."""

    __slots__ = ("_found_wanted", "by_name", "restarts", "tally")

    def __init__(self) -> None:
        self.by_name: dict[str, Member] = {}
        self.tally: Counter[str] = Counter()
        self.restarts = 0
        self._found_wanted: object = None

    def are_all(self, wanted: Callable[[Member], bool], version: Hashable) -> bool:
        """Whether all pods are `wanted`, which depends on their name and `out_of_sync` alone, and on what `version`
        stands for. It is not asked again of pods of which nothing else has changed."""
        if self._found_wanted != version:
            if not all(map(wanted, self.by_name.values())):
                return False
            self._found_wanted = version
        return True

    def put(self, member: Member) -> Member | None:
        old = self.by_name.get(member.name)
        if old is None or old.out_of_sync != member.out_of_sync:
            self._found_wanted = None
        if old is not None:
            self._count(old, -1)
        self.by_name[member.name] = member
        self._count(member, 1)
        return old

    def drop(self, name: str) -> Member | None:
        old = self.by_name.pop(name, None)
        if old is not None:
            self._count(old, -1)
        return old

    def _count(self, member: Member, sign: int) -> None:
        self.tally[member.standing] += sign
        if member.restarts and member.phase in _UNFINISHED:
            self.restarts += sign * member.restarts


class Members:
    """The pods of one job, by task and name."""

    __slots__ = ("tasks",)

    def __init__(self, members: Iterable[Member] = ()) -> None:
        self.tasks: dict[str, TaskPods] = {}
        for member in members:
            self.put(member)

    def __iter__(self) -> Iterator[Member]:
        for task in self.tasks.values():
            yield from task.by_name.values()

    def __len__(self) -> int:
        return sum(len(task.by_name) for task in self.tasks.values())

    def put(self, member: Member) -> Member | None:
        """Add or replace; returns what was known before."""
        task = self.tasks.get(member.task)
        if task is None:
            task = self.tasks[member.task] = TaskPods()
        return task.put(member)

    def drop(self, task: str, name: str) -> Member | None:
        pods = self.tasks.get(task)
        if pods is None:
            return None
        old = pods.drop(name)
        if not pods.by_name:
            del self.tasks[task]
        return old

    def get(self, task: str, name: str) -> Member | None:
        pods = self.tasks.get(task)
        return pods.by_name.get(name) if pods else None

    def of(self, task: str) -> Mapping[str, Member]:
        pods = self.tasks.get(task)
        return pods.by_name if pods else {}

    def are_all(self, task: str, wanted: Callable[[Member], bool], version: Hashable) -> bool:
        """As `TaskPods.are_all`; of no pods it is true."""
        pods = self.tasks.get(task)
        return pods is None or pods.are_all(wanted, version)

    def partition(self, task: str, partition: str) -> list[Member]:
        return [member for member in self.of(task).values() if member.partition == partition]

    def count(self, task: str, standing: str) -> int:
        pods = self.tasks.get(task)
        return pods.tally[standing] if pods else 0

    def restarts(self, task: str) -> int:
        """Container restarts of the task's pending and running pods."""
        pods = self.tasks.get(task)
        return pods.restarts if pods else 0


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return NO_VERSION
