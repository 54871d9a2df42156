"""What one cycle decided: a plain record that effects carry out, tests check and `vcctl schedule` prints.

What there is one of per pod or job is a `Struct`: ten thousand frozen dataclasses take ten times as long to make.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

import msgspec

from volcano.api.core.dra import ClaimAllocation, ResourceClaim
from volcano.api.meta import JsonObject
from volcano.api.scheduling import PodGroupStatus
from volcano.scheduler.cluster.shards import ShardUse
from volcano.scheduler.framework.reasons import Reason


@dataclass(frozen=True, slots=True)
class ClaimBinding:
    """A volume claim that is bound together with its pod: to a volume, or to be provisioned for a node."""

    claim: str
    volume: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True)
class OwnClaim:
    """The claim that stands for a pod's extended resources, and which of its requests serves which container."""

    claim: ResourceClaim
    mappings: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class DeviceAllocation:
    """A resource claim that a pod uses from now on; `allocation` is set if its devices are chosen with the pod."""

    claim: str
    claim_uid: str
    allocation: ClaimAllocation | None
    pod_name: str
    pod_uid: str
    made: OwnClaim | None = None
    """The claim does not exist yet: it is created for the pod."""


@dataclass(frozen=True, slots=True)
class NodeLock:
    """The node's device plugin serves one pod at a time: this annotation of the node says that one is on its way."""

    node: str
    annotation: str


Settlement = ClaimBinding | DeviceAllocation | NodeLock
"""What has to be in order before a pod is bound."""


class Bind(msgspec.Struct, frozen=True):
    """One pod gets its node."""

    uid: str
    namespace: str
    name: str
    node: str
    job: str = ""
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    claims: tuple[Settlement, ...] = ()
    """To be settled before the pod itself is bound."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Eviction:
    """One pod gives up its node; `cause` is the action that says so."""

    uid: str
    namespace: str
    name: str
    node: str
    job: str
    cause: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Admission:
    """The queue has room for a pod that waits behind the queue-allocation gate: the gate is taken away."""

    uid: str
    namespace: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Condition(msgspec.Struct, frozen=True):
    """A PodGroup condition as decided; times are the writer's business."""

    type: str
    reason: str
    message: str = ""
    status: str = "True"


@dataclass(slots=True)
class PodGroupDecision:
    """The status a PodGroup should have now."""

    phase: str
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: list[Condition] = field(default_factory=list)
    """New or confirmed in this cycle; other types keep what they had."""
    is_settling: bool = False
    """All that the group needs have their nodes and some do not run yet: more news is about to come."""

    def is_shown_by(self, status: PodGroupStatus) -> bool:
        """Whether a PodGroup says so already."""
        return not self.news(status)

    def news(self, status: PodGroupStatus) -> Set[str]:
        """The fields of the PodGroup's status that are to say something else."""
        fields = set()
        if status.phase != self.phase:
            fields.add("phase")
        if status.running != self.running:
            fields.add("running")
        if status.succeeded != self.succeeded:
            fields.add("succeeded")
        if status.failed != self.failed:
            fields.add("failed")
        if self.conditions and self.untold(status):
            fields.add("conditions")
        return fields

    def untold(self, status: PodGroupStatus) -> list[Condition]:
        """The conditions that are not among the newest ones of the PodGroup."""
        newest = status.conditions[-len(self.conditions) :]
        told = [(old.type, old.status, old.reason, old.message) for old in newest]
        return [new for new in self.conditions if (new.type, new.status, new.reason, new.message) not in told]


@dataclass(frozen=True, slots=True)
class PodVerdict:
    """Why a pod has no node yet: its PodScheduled=False condition."""

    uid: str
    namespace: str
    name: str
    reason: str
    message: str
    nominated_node: str = ""


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """Something to tell users about an object: kind is "PodGroup" or "Pod"."""

    kind: str
    key: str
    type: str
    reason: str
    message: str


class TaskState(msgspec.Struct, frozen=True):
    status: str
    node: str = ""
    job: str = ""


@dataclass(slots=True)
class Decisions:
    session: str = ""
    """Id of the cycle; conditions carry it as their transition id."""
    binds: dict[str, str] = field(default_factory=dict)
    bind_order: list[tuple[str, str]] = field(default_factory=list)
    committed: list[Bind] = field(default_factory=list)
    pipelined: dict[str, str] = field(default_factory=dict)
    evictions: list[Eviction] = field(default_factory=list)
    admissions: dict[str, Admission] = field(default_factory=dict)
    """By key of the pod."""
    podgroups: dict[str, PodGroupDecision] = field(default_factory=dict)
    reasons: dict[str, Reason] = field(default_factory=dict)
    """Per job that is not running: why."""
    pods: list[PodVerdict] = field(default_factory=list)
    events: list[ClusterEvent] = field(default_factory=list)
    tasks: dict[str, TaskState] = field(default_factory=dict)
    """Members of the jobs that this cycle looked at or changed, as they are at its end."""
    credits: dict[str, int] = field(default_factory=dict)
    """Per queue that asked for it, how many podgroups are let in before they are there."""
    queues: dict[str, dict[str, str]] = field(default_factory=dict)
    """Per queue what its tasks hold, as resource lists."""
    shard: ShardUse | None = None
    """Where nodes are shared by NodeShards: which this scheduler uses."""
    transactions: dict[str, int] = field(default_factory=dict)
    """Committed statements with evictions, by action."""
    gauges: dict[tuple[str, tuple[str, ...]], float] = field(default_factory=dict)
    """Metrics that plugins report, by name and label values."""
    warnings: list[str] = field(default_factory=list)
    """What is wrong with the configuration in force, and has no effect."""
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds per action and plugin, where the caller measures them."""

    def reason(self, job: str) -> Reason | None:
        """The reason of a job, by key or, in the namespace `default`, by name."""
        return self.reasons.get(job) or self.reasons.get(f"default/{job}")

    @property
    def is_empty(self) -> bool:
        return not (self.binds or self.evictions or self.pipelined or self.admissions)
