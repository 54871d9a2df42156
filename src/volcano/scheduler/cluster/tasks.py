"""A task is a pod as the scheduler sees it: its status, where it is, and the profile that decides where it may go.

Neighbours: profiles.py (what it asks for), jobs.py (the counters that its status feeds), cluster.py (who changes it).
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from volcano.api import keys

if TYPE_CHECKING:
    from volcano.api.core import Pod
    from volcano.scheduler.cluster.jobs import Job, SubJob
    from volcano.scheduler.cluster.profiles import Profile

NO_NODE: Final = -1


class Status(IntEnum):
    PENDING = 0
    ALLOCATED = 1
    PIPELINED = 2
    BINDING = 3
    BOUND = 4
    RUNNING = 5
    RELEASING = 6
    SUCCEEDED = 7
    FAILED = 8
    UNKNOWN = 9

    @property
    def title(self) -> str:
        return self.name.capitalize()


ALLOCATED_STATUSES: Final = frozenset({Status.ALLOCATED, Status.BINDING, Status.BOUND, Status.RUNNING})
"""Holding resources that count as their queue's and their job's allocation."""
TERMINATED_STATUSES: Final = frozenset({Status.SUCCEEDED, Status.FAILED})
PREEMPTABLE_STATUSES: Final = frozenset({Status.BOUND, Status.RUNNING})

_CRITICAL_CLASSES = frozenset({"system-cluster-critical", "system-node-critical"})


class Task:
    """Mutable, but only through `Cluster` (between cycles) and `Statement` (within one)."""

    __slots__ = (
        "created",
        "evicted",
        "gates",
        "index",
        "job",
        "key",
        "name",
        "namespace",
        "node",
        "node_name",
        "nominated_node",
        "pod",
        "preemptable",
        "priority",
        "profile",
        "promised",
        "revocable_zone",
        "role",
        "status",
        "sub_job",
        "trial",
        "uid",
    )

    def __init__(self, pod: Pod, profile: Profile) -> None:
        meta = pod.metadata
        self.uid = meta.uid or f"{meta.namespace}-{meta.name}"
        self.namespace = meta.namespace
        self.name = meta.name
        self.key = f"{meta.namespace}/{meta.name}"
        self.pod = pod
        self.profile = profile
        self.job: Job | None = None
        self.sub_job: SubJob | None = None
        self.role = meta.annotations.get(keys.TASK_SPEC) or meta.labels.get(keys.TASK_SPEC, "")
        self.priority = task_priority(pod)
        self.created = meta.creation_timestamp.timestamp() if meta.creation_timestamp else 0.0
        self.index = ordinal(meta.name)
        self.status = status_of(pod)
        self.node = NO_NODE
        self.node_name = pod.spec.node_name
        self.nominated_node = pod.status.nominated_node_name
        self.gates = frozenset(gate.name for gate in pod.spec.scheduling_gates)
        self.preemptable = flag(pod, keys.PREEMPTABLE, default=True)
        self.revocable_zone = revocable_zone(meta.annotations)
        self.evicted = False
        """Whether somebody was evicted to make room for this (pipelined) task."""
        self.promised = self.nominated_node if not self.node_name else ""
        """The node that is kept for it, from one session to the next: others were evicted for its job to start.

        A scheduler that did not see it happen reads it from the pod.
        """
        self.trial: tuple[Status, str] | None = None
        """Status and node that the last discarded statement had given it; what messages speak of."""

    def __repr__(self) -> str:
        return f"Task({self.key}, {self.status.title}, {self.node_name or '-'})"

    @property
    def best_effort(self) -> bool:
        return self.profile.best_effort

    @property
    def gated(self) -> bool:
        return bool(self.gates)

    @property
    def waits_for_queue_only(self) -> bool:
        """Its only gate is the one that queue admission removes."""
        return self.gates == _QUEUE_GATE

    @property
    def asks_queue_first(self) -> bool:
        """It has asked to be held back until its queue has room."""
        return self.pod.metadata.annotations.get(keys.QUEUE_ALLOCATION_GATE) == "true"

    @property
    def is_critical(self) -> bool:
        """A pod that the cluster itself needs: by class name or by namespace."""
        return self.pod.spec.priority_class_name in _CRITICAL_CLASSES or self.namespace == "kube-system"

    @property
    def order(self) -> tuple[int, float, str]:
        """The order of tasks that no plugin tells apart: by number in the name, then age, then uid."""
        return (self.index, self.created, self.uid)


_QUEUE_GATE = frozenset({keys.QUEUE_ALLOCATION_GATE})


def status_of(pod: Pod) -> Status:
    leaving = pod.metadata.deletion_timestamp is not None
    match pod.status.phase:
        case "Running":
            return Status.RELEASING if leaving else Status.RUNNING
        case "Pending":
            if leaving:
                return Status.RELEASING
            return Status.BOUND if pod.spec.node_name else Status.PENDING
        case "Succeeded":
            return Status.SUCCEEDED
        case "Failed":
            return Status.FAILED
    return Status.UNKNOWN


def task_priority(pod: Pod) -> int:
    """The annotation, if it is a 32-bit number, else the pod's own priority, else 1."""
    text = pod.metadata.annotations.get(keys.TASK_PRIORITY, "")
    try:
        number = int(text)
    except ValueError:
        number = 1 << 32
    if -(1 << 31) <= number < 1 << 31:
        return number
    return 1 if pod.spec.priority is None else pod.spec.priority


def ordinal(pod_name: str) -> int:
    """The number after the last dash of a replica's name (`job-worker-7` is 7), -1 if there is none."""
    parts = pod_name.split("-")
    return int(parts[-1]) if len(parts) >= 3 and parts[-1].isascii() and parts[-1].isdigit() else -1


_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


def is_true(text: str) -> bool:
    """A boolean as Go reads it; what it cannot read is false."""
    return text in _TRUE


def flag(pod: Pod, key: str, *, default: bool) -> bool:
    """A boolean annotation or, failing that, label. Absent: the default; unreadable: False."""
    meta = pod.metadata
    text = meta.annotations.get(key)
    if text is None:
        text = meta.labels.get(key)
    return default if text is None else text in _TRUE


def revocable_zone(annotations: dict[str, str]) -> str:
    zone = annotations.get(keys.REVOCABLE_ZONE)
    if zone is not None:
        return "*" if zone == "*" else ""
    return "*" if annotations.get(keys.PREEMPTABLE, "") in _TRUE else ""
