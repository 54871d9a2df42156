"""scheduling.volcano.sh/v1beta1: PodGroup (a gang) and Queue (a share of the cluster)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import field

from volcano.api import keys
from volcano.api.batch import NetworkTopologySpec
from volcano.api.constraints import DNS_SUBDOMAIN, INT32, Schema
from volcano.api.meta import LabelSelector, Model, ObjectMeta, ResourceList, Time

POD_GROUP_PHASES: Final = ("Pending", "Running", "Unknown", "Inqueue", "Completed")
QUEUE_STATES: Final = ("Open", "Closed", "Closing", "Unknown")
DEQUEUE_STRATEGIES: Final = ("fifo", "traverse")

# Condition types, details and reasons of a PodGroup
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULED: Final = "Scheduled"
POD_GROUP_READY: Final = "pod group is ready"
POD_GROUP_NOT_READY: Final = "pod group is not ready"
REASON_NOT_ENOUGH_RESOURCES: Final = "NotEnoughResources"
REASON_NOT_ENOUGH_TASKS: Final = "NotEnoughTasks"
REASON_NOT_ENOUGH_PODS_OF_TASK: Final = "NotEnoughPodsOfTask"


def group_of(annotations: Mapping[str, str]) -> str:
    """The PodGroup that a pod's annotations name. Many know the second of the two keys only: it counts alone."""
    return annotations.get(keys.GROUP_NAME) or annotations.get(keys.VOLCANO_GROUP_NAME, "")


class SubGroupPolicySpec(Model, kw_only=True):
    name: Annotated[str, Schema(max_length=253, doc="Name of the policy.")] = ""
    network_topology: Annotated[NetworkTopologySpec | None, Schema(doc="How close one subgroup must be.")] = None
    sub_group_size: Annotated[int | None, Schema(default=1, format="int32", minimum=1, doc="Pods per subgroup.")] = None
    min_sub_groups: Annotated[
        int | None, Schema(default=0, format="int32", minimum=0, doc="Subgroups that must be placeable to start.")
    ] = None
    label_selector: Annotated[LabelSelector | None, Schema(map_type="atomic", doc="Pods the policy is about.")] = None
    match_label_keys: Annotated[
        list[str], Schema(list_type="atomic", doc="Pods with equal values of these labels form one subgroup.")
    ] = []


class PodGroupSpec(Model, kw_only=True):
    min_member: Annotated[int, Schema(format="int32", minimum=0, doc="Pods that start together or not at all.")] = 0
    min_task_member: Annotated[dict[str, int], Schema(values=INT32, doc="The same, per task.")] = {}
    queue: Annotated[
        str, Schema(default="default", max_length=253, pattern=DNS_SUBDOMAIN, doc="Queue the group is charged to.")
    ] = ""
    priority_class_name: Annotated[str, Schema(max_length=253, doc="PriorityClass of the group.")] = ""
    min_resources: Annotated[
        ResourceList | None, Schema(doc="Resources the group needs at least, for its admission to the queue.")
    ] = None
    network_topology: Annotated[NetworkTopologySpec | None, Schema(doc="How close the members must be.")] = None
    sub_group_policy: Annotated[list[SubGroupPolicySpec], Schema(doc="Gangs within the gang.")] = []


class PodGroupCondition(Model, kw_only=True):
    type: str = ""
    status: str = ""
    transition_id: Annotated[str, Schema(doc="The scheduling cycle that wrote it.")] = field(
        default="", name="transitionID"
    )
    last_transition_time: Annotated[Time | None, Schema(doc="When it last changed.")] = None
    reason: Annotated[str, Schema(doc="Why, in one word.")] = ""
    message: Annotated[str, Schema(doc="Why, for people.")] = ""


class PodGroupStatus(Model, kw_only=True):
    phase: Annotated[str, Schema(enum=POD_GROUP_PHASES, doc="Where the group is in its life.")] = ""
    conditions: Annotated[list[PodGroupCondition], Schema(doc="What the scheduler found.")] = []
    running: Annotated[int, Schema(format="int32", minimum=0, doc="Members running.")] = 0
    succeeded: Annotated[int, Schema(format="int32", minimum=0, doc="Members that succeeded.")] = 0
    failed: Annotated[int, Schema(format="int32", minimum=0, doc="Members that failed.")] = 0


class PodGroup(Model, kw_only=True):
    """Pods that are scheduled together or not at all."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[PodGroupSpec, Schema(doc="What the group needs.")] = field(default_factory=PodGroupSpec)
    status: Annotated[PodGroupStatus, Schema(doc="What the scheduler sees.")] = field(default_factory=PodGroupStatus)


class Cluster(Model, kw_only=True):
    """A further cluster that a queue may send work to."""

    name: Annotated[str, Schema(doc="Name of the cluster.")] = ""
    weight: Annotated[int, Schema(format="int32", doc="Its share of the work.")] = 0
    capacity: Annotated[ResourceList, Schema(doc="What it offers.")] = {}


class Guarantee(Model, kw_only=True):
    resource: Annotated[ResourceList, Schema(doc="Resources no other queue may use.")] = {}


class NodeGroupAffinity(Model, kw_only=True):
    """Names of node groups (node label volcano.sh/nodegroup-name)."""

    required_during_scheduling_ignored_during_execution: Annotated[
        list[str], Schema(doc="Only these (or, for anti-affinity, none of these).")
    ] = []
    preferred_during_scheduling_ignored_during_execution: Annotated[
        list[str], Schema(doc="Rather these (or, for anti-affinity, rather not these).")
    ] = []


class QueueAffinity(Model, kw_only=True):
    node_group_affinity: Annotated[NodeGroupAffinity | None, Schema(doc="Node groups the queue uses.")] = None
    node_group_anti_affinity: Annotated[NodeGroupAffinity | None, Schema(doc="Node groups the queue avoids.")] = None


class QueueSpec(Model, kw_only=True):
    weight: Annotated[
        int,
        Schema(default=1, format="int32", minimum=1, maximum=65535, doc="Share relative to the other queues."),
    ] = 0
    capability: Annotated[ResourceList, Schema(doc="Upper limit of what the queue may use.")] = {}
    reclaimable: Annotated[bool | None, Schema(doc="Whether other queues may take back what it uses.")] = None
    extend_clusters: Annotated[list[Cluster], Schema(doc="Further clusters for the queue's work.")] = []
    guarantee: Annotated[Guarantee, Schema(doc="What is kept for this queue alone.")] = field(default_factory=Guarantee)
    affinity: Annotated[QueueAffinity | None, Schema(doc="Node groups the queue uses or avoids.")] = None
    type: Annotated[str, Schema(max_length=253, doc="Kind of the queue, free text.")] = ""
    parent: Annotated[str, Schema(max_length=253, pattern=DNS_SUBDOMAIN, doc="The queue it is a part of.")] = ""
    deserved: Annotated[ResourceList, Schema(doc="Elastic share: more may be used, and is given back first.")] = {}
    priority: Annotated[int, Schema(format="int32", minimum=0, doc="Higher is served first and gives back last.")] = 0
    dequeue_strategy: Annotated[
        str,
        Schema(
            default="traverse",
            enum=DEQUEUE_STRATEGIES,
            doc="fifo waits for the first job that does not fit; traverse goes on to the next.",
        ),
    ] = ""


class Reservation(Model, kw_only=True):
    nodes: Annotated[list[str], Schema(doc="Nodes locked for the queue.")] = []
    resource: Annotated[ResourceList, Schema(doc="Resources locked for the queue.")] = {}


class QueueStatus(Model, kw_only=True):
    state: Annotated[str, Schema(enum=QUEUE_STATES, doc="Whether the queue takes jobs.")] = ""
    unknown: Annotated[int, Schema(format="int32", minimum=0, doc="Pod groups in phase Unknown.")] = 0
    pending: Annotated[int, Schema(format="int32", minimum=0, doc="Pod groups in phase Pending.")] = 0
    running: Annotated[int, Schema(format="int32", minimum=0, doc="Pod groups in phase Running.")] = 0
    inqueue: Annotated[int, Schema(format="int32", minimum=0, doc="Pod groups in phase Inqueue.")] = 0
    completed: Annotated[int, Schema(format="int32", minimum=0, doc="Pod groups in phase Completed.")] = 0
    reservation: Annotated[Reservation, Schema(doc="What is locked for the queue.")] = field(
        default_factory=Reservation
    )
    allocated: Annotated[ResourceList, Schema(doc="What the queue uses now.")] = {}


class Queue(Model, kw_only=True):
    """A share of the cluster that jobs are charged to."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[QueueSpec, Schema(doc="What the queue may use.")] = field(default_factory=QueueSpec)
    status: Annotated[QueueStatus, Schema(doc="What the queue uses.")] = field(default_factory=QueueStatus)

    @property
    def is_open(self) -> bool:
        """Whether it takes new work. One that its controller has not seen yet has no state: it is about to be open."""
        return self.status.state in ("", "Open")
