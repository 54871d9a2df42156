"""A job is a PodGroup with its tasks: counters by status, role and sub-group, so that readiness is O(1).

Neighbours: tasks.py, queues.py; cluster.py moves tasks between statuses; plugins/gang.py judges the counters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from volcano.api import keys
from volcano.scheduler.cluster.resources import Dimensions, Vector, pad
from volcano.scheduler.cluster.tasks import ALLOCATED_STATUSES, Status, Task, is_true

if TYPE_CHECKING:
    from volcano.api.scheduling import PodGroup, PodGroupStatus, SubGroupPolicySpec
    from volcano.scheduler.cluster.queues import Queue

PENDING = "Pending"
INQUEUE = "Inqueue"
RUNNING = "Running"
UNKNOWN = "Unknown"
COMPLETED = "Completed"

_READY = frozenset({*ALLOCATED_STATUSES, Status.SUCCEEDED})


class Tally:
    """How many tasks are in each status. `ready` hold resources or are done, `waiting` are pipelined."""

    __slots__ = ("best_effort_pending", "counts", "ready")

    def __init__(self) -> None:
        self.counts = [0] * len(Status)
        self.ready = 0
        self.best_effort_pending = 0

    def add(self, status: Status, number: int, best_effort: bool) -> None:
        self.counts[status] += number
        if status in _READY:
            self.ready += number
        elif best_effort and status is Status.PENDING:
            self.best_effort_pending += number

    @property
    def waiting(self) -> int:
        return self.counts[Status.PIPELINED]

    @property
    def pending(self) -> int:
        return self.counts[Status.PENDING]

    @property
    def valid(self) -> int:
        """Tasks that are, or may come to be, members of a running gang."""
        return self.ready + self.waiting + self.pending

    @property
    def total(self) -> int:
        return sum(self.counts)

    @property
    def scheduled(self) -> int:
        """Tasks that the API server knows on a node: what PodGroup phases count."""
        counts = self.counts
        return counts[Status.RUNNING] + counts[Status.BOUND] + counts[Status.FAILED] + counts[Status.SUCCEEDED]

    @property
    def allocated(self) -> int:
        counts = self.counts
        return counts[Status.ALLOCATED] + counts[Status.BINDING] + counts[Status.BOUND] + counts[Status.RUNNING]

    @property
    def arriving(self) -> int:
        """Tasks on their way to a node: nobody can evict them yet."""
        return self.counts[Status.ALLOCATED] + self.counts[Status.BINDING]

    def describe(self) -> dict[str, int]:
        return {status.title: self.counts[status] for status in Status if self.counts[status]}


class SubJob:
    """Members of a job that belong together (`spec.subGroupPolicy`); a job without policies has one, itself."""

    __slots__ = (
        "allocated_hypernode",
        "group",
        "job",
        "key",
        "match_index",
        "min_available",
        "nominated_hypernode",
        "policy",
        "tally",
        "tasks",
    )

    def __init__(self, job: Job, key: str, group: str, policy: SubGroupPolicySpec | None, match_index: int = 0) -> None:
        self.job = job
        self.key = key
        self.group = group
        self.policy = policy
        self.match_index = match_index
        self.tally = Tally()
        self.tasks: dict[str, Task] = {}
        self.min_available = 1
        self.allocated_hypernode = ""
        self.nominated_hypernode = ""

    @property
    def priority(self) -> int:
        return max([0, *(task.priority for task in self.tasks.values())])

    @property
    def is_ready(self) -> bool:
        return self.tally.ready + self.tally.best_effort_pending >= self.min_available

    @property
    def is_pipelined(self) -> bool:
        tally = self.tally
        return tally.waiting + tally.ready + tally.best_effort_pending >= self.min_available


@dataclass(slots=True)
class Wait:
    """A job that waits: how many pods it had at the last look, and when its users are told next."""

    pods: int
    due: float


class Told(Protocol):
    """A PodGroup's status as a session decides it."""

    def is_shown_by(self, status: PodGroupStatus) -> bool:
        """Whether the PodGroup says so already."""


class Job:
    """Mutable, but only through `Cluster`. Whatever changes is noted in the registers of who follows jobs."""

    __slots__ = (
        "_phase",
        "_registers",
        "allocated",
        "allocated_hypernode",
        "created",
        "fell",
        "gave",
        "key",
        "min_available",
        "min_resources",
        "name",
        "namespace",
        "pending",
        "pod_group",
        "priority",
        "queue",
        "queue_name",
        "role_minimums",
        "roles",
        "stood",
        "sub_jobs",
        "tally",
        "tasks",
        "told",
        "total_request",
        "uid",
        "wait",
    )

    def __init__(self, key: str, dimensions: Dimensions, registers: Sequence[dict[str, Job]] = ()) -> None:
        """Into each of `registers` the job enters itself, by its key, whenever it changes."""
        self._registers = registers
        self.key = key
        self.namespace, _, self.name = key.partition("/")
        self.uid = ""
        self.pod_group: PodGroup | None = None
        self.queue: Queue | None = None
        self.queue_name = ""
        self.priority = 0
        self.created = 0.0
        self._phase = ""
        self.min_available = 0
        self.min_resources: dict[int, int] | None = None
        """`spec.minResources` by dimension; None where the PodGroup does not say."""
        self.role_minimums: dict[str, int] = {}
        self.tasks: dict[str, Task] = {}
        self.pending: dict[str, Task] = {}
        self.tally = Tally()
        self.roles: dict[str, Tally] = {}
        self.sub_jobs: dict[str, SubJob] = {}
        self.allocated: Vector = dimensions.zeros()
        self.total_request: Vector = dimensions.zeros()
        self.allocated_hypernode = ""
        self.stood = False
        """It was complete at the end of a session, and has lost nobody to an eviction for others since."""
        self.fell = False
        """It was complete until members were evicted, and has not been since."""
        self.gave = 0
        """The era (era.py) in which it last lost a member to another queue."""
        self.wait: Wait | None = None
        """Set while it waits; framework/patience.py keeps it."""
        self.told: Told | None = None
        """What the last session to look at it decided that its PodGroup shall say."""

    def __repr__(self) -> str:
        return f"Job({self.key}, {self.phase or 'no phase'}, {self.tally.describe()})"

    @property
    def phase(self) -> str:
        """The PodGroup's phase as the scheduler has last decided it."""
        return self._phase

    @phase.setter
    def phase(self, phase: str) -> None:
        if phase != self._phase:
            self._phase = phase
            self.note_change()

    def note_change(self) -> None:
        for register in self._registers:
            register[self.key] = self

    # What readiness means. Best-effort members that are still pending never wait for room, so they count as ready.

    @property
    def is_pending(self) -> bool:
        """Not admitted to its queue yet."""
        return self._phase in ("", PENDING)

    @property
    def is_restless(self) -> bool:
        """It waits for something that a cycle may give."""
        return bool(self.pending) or self.tally.waiting > 0 or self.is_pending

    @property
    def ready_count(self) -> int:
        return self.tally.ready + self.tally.best_effort_pending

    @property
    def is_ready(self) -> bool:
        tally = self.tally  # `ready_count`, without a call: asked ten times a cycle
        return tally.ready + tally.best_effort_pending >= self.min_available

    @property
    def is_pipelined(self) -> bool:
        return self.tally.waiting + self.ready_count >= self.min_available

    @property
    def is_starving(self) -> bool:
        return self.tally.waiting + self.tally.ready < self.min_available

    @property
    def enforces_roles(self) -> bool:
        """Minimums per role count only while they fit into the job's own minimum."""
        return bool(self.role_minimums) and self.min_available >= sum(self.role_minimums.values())

    def roles_short_of(self, count: str) -> dict[str, tuple[int, int]]:
        """Roles below their minimum, with (need, have); `count` is "ready", "pipelined", "starving" or "valid"."""
        if not self.enforces_roles:
            return {}
        have = {role: _role_count(self.roles.get(role), count) for role in self.role_minimums}
        return {role: (need, have[role]) for role, need in self.role_minimums.items() if have[role] < need}

    def groups_short_of(self, ready: str) -> dict[str, tuple[int, int]]:
        """Sub-group policies with too few sub-jobs that are "ready", "pipelined" or "valid" (exist)."""
        short = {}
        for policy in self.policies:
            need = policy.min_sub_groups or 0
            members = [sub_job for sub_job in self.sub_jobs.values() if sub_job.policy is policy]
            have = sum(1 for sub_job in members if ready == "valid" or _sub_job_is(sub_job, ready))
            if have < need:
                short[policy.name] = (need, have)
        return short

    @property
    def policies(self) -> list[SubGroupPolicySpec]:
        return self.pod_group.spec.sub_group_policy if self.pod_group else []

    @property
    def has_topology(self) -> bool:
        if self.pod_group is None:
            return False
        spec = self.pod_group.spec
        return spec.network_topology is not None or any(policy.network_topology for policy in spec.sub_group_policy)

    @property
    def may_be_evicted(self) -> bool:
        """Its PodGroup does not forbid it (`volcano.sh/preemptable`)."""
        if self.pod_group is None:
            return True
        meta = self.pod_group.metadata
        text = meta.annotations.get(keys.PREEMPTABLE, meta.labels.get(keys.PREEMPTABLE))
        return text is None or is_true(text)

    # Changing it: only Cluster calls these.

    def move(self, tasks: Iterable[Task], number: int, old: Status | None, new: Status | None) -> None:
        """Count `number` identical tasks of one sub-job out of `old` and into `new` (None: not a member)."""
        sample = next(iter(tasks))
        self.note_change()
        best_effort = sample.profile.best_effort
        role = self.roles.get(sample.role)
        if role is None:
            role = self.roles[sample.role] = Tally()
        tallies = [self.tally, role]
        if sample.sub_job is not None and sample.sub_job.tally is not self.tally:
            tallies.append(sample.sub_job.tally)
        for tally in tallies:
            if old is not None:
                tally.add(old, -number, best_effort)
            if new is not None:
                tally.add(new, number, best_effort)
        held = old in ALLOCATED_STATUSES
        holds = new in ALLOCATED_STATUSES
        if held != holds:
            change = sample.profile.request * (number if holds else -number)
            self.allocated += change
            if self.queue is not None:
                self.queue.allocated += change
        if self.queue is not None and (old is Status.PENDING) != (new is Status.PENDING):
            self.queue.pending += sample.profile.request * (number if new is Status.PENDING else -number)

    def widen(self, width: int) -> None:
        self.allocated = pad(self.allocated, width)
        self.total_request = pad(self.total_request, width)

    def pending_request(self) -> Vector:
        """Sum of what its pending tasks ask for."""
        total = np.zeros_like(self.allocated)
        for task in self.pending.values():
            total += task.profile.request
        return total


def _role_count(tally: Tally | None, count: str) -> int:
    if tally is None:
        return 0
    match count:
        case "ready":
            return tally.ready + tally.best_effort_pending
        case "pipelined":
            return tally.ready + tally.best_effort_pending + tally.waiting
        case "starving":
            return tally.ready + tally.waiting
    return tally.valid


def _sub_job_is(sub_job: SubJob, state: str) -> bool:
    return sub_job.is_ready if state == "ready" else sub_job.is_pipelined
