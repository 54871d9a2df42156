"""batch.volcano.sh/v1alpha1: Job and CronJob.

Pod templates stay plain documents, so nothing a user writes into them is lost; their schema is Kubernetes' own.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from volcano.api.constraints import DNS_LABEL, DNS_SUBDOMAIN, INT32, Schema
from volcano.api.meta import JsonObject, Model, ObjectMeta, ObjectReference, Time
from volcano.api.phases import JOB_PHASES

LIFECYCLE_EVENTS: Final = (
    "*",
    "PodPending",
    "PodRunning",
    "PodFailed",
    "PodEvicted",
    "Unknown",
    "TaskCompleted",
    "OutOfSync",
    "CommandIssued",
    "JobUpdated",
    "TaskFailed",
)
NUMA_POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
TOPOLOGY_MODES: Final = ("hard", "soft")
CONCURRENCY_POLICIES: Final = ("Allow", "Forbid", "Replace")


class NetworkTopologySpec(Model, kw_only=True):
    mode: Annotated[
        str,
        Schema(
            default="hard",
            enum=TOPOLOGY_MODES,
            doc="hard keeps all members inside one domain of at most the highest allowed tier; soft only prefers it.",
        ),
    ] = ""
    highest_tier_allowed: Annotated[
        int | None, Schema(minimum=0, doc="Largest tier a domain may have; excludes highestTierName.")
    ] = None
    highest_tier_name: Annotated[
        str, Schema(max_length=253, doc="Name of the largest tier a domain may have; excludes highestTierAllowed.")
    ] = ""


class LifecyclePolicy(Model, kw_only=True):
    action: Annotated[str, Schema(doc="What to do, for example RestartJob, AbortJob, CompleteJob.")] = ""
    event: Annotated[str, Schema(enum=LIFECYCLE_EVENTS, doc="The event that triggers the action.")] = ""
    events: Annotated[
        list[str], Schema(items=Schema(enum=LIFECYCLE_EVENTS), doc="Several events that trigger the action.")
    ] = []
    exit_code: Annotated[
        int | None, Schema(format="int32", doc="Exit code of a container that triggers the action; never 0.")
    ] = None
    timeout: Annotated[str | None, Schema(doc="How long to wait before acting, such as 5m.")] = None


class VolumeSpec(Model, kw_only=True):
    mount_path: Annotated[
        str,
        Schema(required=True, min_length=1, pattern="^[^:]+$", doc="Where every container of every task sees it."),
    ] = ""
    volume_claim_name: Annotated[str, Schema(max_length=253, doc="An existing or named claim to mount.")] = ""
    volume_claim: Annotated[
        JsonObject | None,
        Schema(definition="io.k8s.api.core.v1.PersistentVolumeClaimSpec", doc="A claim to create for the job."),
    ] = None


class DependsOn(Model, kw_only=True):
    name: Annotated[list[str], Schema(doc="Tasks that must have started before this one.")] = []
    iteration: Annotated[str, Schema(doc="any: one of them is enough; all: every one.")] = ""


class PartitionPolicySpec(Model, kw_only=True):
    total_partitions: Annotated[
        int, Schema(required=True, format="int32", minimum=1, doc="Number of equal parts of the task.")
    ] = 0
    partition_size: Annotated[int, Schema(required=True, format="int32", minimum=1, doc="Pods per part.")] = 0
    network_topology: Annotated[NetworkTopologySpec | None, Schema(doc="How close the pods of one part must be.")] = (
        None
    )
    min_partitions: Annotated[
        int, Schema(default=0, format="int32", minimum=0, doc="Parts that must be placeable for the task to start.")
    ] = 0


class TaskSpec(Model, kw_only=True):
    name: Annotated[str, Schema(max_length=63, pattern=DNS_LABEL, doc="Name of the task, unique in the job.")] = ""
    replicas: Annotated[int, Schema(format="int32", minimum=0, doc="Number of pods of this task.")] = 0
    min_available: Annotated[
        int | None, Schema(format="int32", minimum=0, doc="Pods of this task that must be placeable to start.")
    ] = None
    template: Annotated[
        JsonObject,
        Schema(definition="io.k8s.api.core.v1.PodTemplateSpec", doc="The pod to create for every replica."),
    ] = {}
    policies: Annotated[
        list[LifecyclePolicy], Schema(doc="What to do on events of this task; comes before the job's policies.")
    ] = []
    topology_policy: Annotated[str, Schema(enum=NUMA_POLICIES, doc="NUMA policy of the task's pods.")] = ""
    max_retry: Annotated[int, Schema(format="int32", minimum=0, doc="Restarts allowed to this task.")] = 0
    depends_on: Annotated[DependsOn | None, Schema(doc="Tasks this one waits for.")] = None
    partition_policy: Annotated[
        PartitionPolicySpec | None, Schema(doc="Splits the task into equal parts placed close together.")
    ] = None


class JobSpec(Model, kw_only=True):
    scheduler_name: Annotated[
        str, Schema(max_length=63, doc="Scheduler of the job's pods where their template names none.")
    ] = ""
    min_available: Annotated[
        int, Schema(format="int32", minimum=0, doc="Pods that must be placeable together before any starts.")
    ] = 0
    volumes: Annotated[list[VolumeSpec], Schema(doc="Volumes mounted into every container of the job.")] = []
    tasks: Annotated[list[TaskSpec], Schema(min_items=1, doc="Groups of equal pods.")] = []
    policies: Annotated[list[LifecyclePolicy], Schema(doc="What to do on events of any task.")] = []
    plugins: Annotated[
        dict[str, list[str]], Schema(doc="Job plugins (env, svc, ssh, pytorch, mpi, ...) with their arguments.")
    ] = {}
    running_estimate: Annotated[str | None, Schema(doc="How long the job is expected to run; information only.")] = None
    queue: Annotated[
        str, Schema(default="default", max_length=253, pattern=DNS_SUBDOMAIN, doc="Queue the job is charged to.")
    ] = ""
    max_retry: Annotated[
        int, Schema(default=3, format="int32", minimum=0, doc="Restarts allowed before the job fails.")
    ] = 0
    ttl_seconds_after_finished: Annotated[
        int | None, Schema(format="int32", minimum=0, doc="Seconds until a finished job is removed; never if unset.")
    ] = None
    priority_class_name: Annotated[
        str, Schema(max_length=253, pattern=DNS_SUBDOMAIN, doc="PriorityClass of the job.")
    ] = ""
    min_success: Annotated[
        int | None, Schema(format="int32", minimum=1, doc="Pods that must succeed for the job to be complete.")
    ] = None
    network_topology: Annotated[NetworkTopologySpec | None, Schema(doc="How close the job's pods must be.")] = None


class JobState(Model, kw_only=True):
    phase: Annotated[str, Schema(enum=JOB_PHASES, doc="Where the job is in its life.")] = ""
    reason: Annotated[str, Schema(doc="Why, in one word.")] = ""
    message: Annotated[str, Schema(doc="Why, for people.")] = ""
    last_transition_time: Annotated[Time | None, Schema(doc="When the phase last changed.")] = None


class JobCondition(Model, kw_only=True):
    """One entry per phase the job has been in; the newest is last."""

    status: Annotated[str, Schema(required=True, doc="The phase.")] = ""
    last_transition_time: Annotated[Time | None, Schema(doc="When the job entered it.")] = None


class TaskState(Model, kw_only=True):
    phase: Annotated[dict[str, int], Schema(values=INT32, doc="Number of pods in each phase.")] = {}


class JobStatus(Model, kw_only=True):
    state: Annotated[JobState, Schema(doc="Current phase and why.")] = field(default_factory=JobState)
    min_available: Annotated[int, Schema(format="int32", minimum=0, doc="spec.minAvailable as last seen.")] = 0
    task_status_count: Annotated[dict[str, TaskState], Schema(doc="Pods of each task by phase.")] = {}
    pending: Annotated[int, Schema(format="int32", minimum=0, doc="Pods waiting.")] = 0
    running: Annotated[int, Schema(format="int32", minimum=0, doc="Pods running.")] = 0
    succeeded: Annotated[int, Schema(format="int32", minimum=0, doc="Pods that succeeded.")] = 0
    failed: Annotated[int, Schema(format="int32", minimum=0, doc="Pods that failed.")] = 0
    terminating: Annotated[int, Schema(format="int32", minimum=0, doc="Pods being deleted.")] = 0
    unknown: Annotated[int, Schema(format="int32", minimum=0, doc="Pods whose node cannot be reached.")] = 0
    version: Annotated[int, Schema(format="int32", minimum=0, doc="Pods created under a lower version are stale.")] = 0
    retry_count: Annotated[int, Schema(format="int32", minimum=0, doc="Restarts so far.")] = 0
    running_duration: Annotated[str | None, Schema(doc="How long the job took, once finished.")] = None
    controlled_resources: Annotated[dict[str, str], Schema(doc="What plugins and claims have created.")] = {}
    conditions: Annotated[list[JobCondition], Schema(doc="Phases the job has been in.", merge_key="status")] = []


class Job(Model, kw_only=True):
    """A batch job: groups of pods started together and steered by policies."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[JobSpec, Schema(doc="What the user wants.")] = field(default_factory=JobSpec)
    status: Annotated[JobStatus, Schema(doc="What the controller sees.")] = field(default_factory=JobStatus)


class JobTemplateSpec(Model, kw_only=True):
    metadata: Annotated[
        JsonObject, Schema(definition="embedded-metadata", doc="Labels and annotations of the created jobs.")
    ] = {}
    spec: Annotated[JobSpec, Schema(doc="The job to create.")] = field(default_factory=JobSpec)


class CronJobSpec(Model, kw_only=True):
    schedule: Annotated[str, Schema(required=True, doc="When to start a job, in cron's five fields.")] = ""
    time_zone: Annotated[str | None, Schema(doc="IANA name of the zone the schedule is in.")] = None
    starting_deadline_seconds: Annotated[
        int | None, Schema(format="int64", minimum=0, doc="How late a missed start may still happen.")
    ] = None
    concurrency_policy: Annotated[
        str,
        Schema(default="Allow", enum=CONCURRENCY_POLICIES, doc="What to do when the previous job still runs."),
    ] = ""
    suspend: Annotated[bool | None, Schema(default=False, doc="Starts no further jobs while true.")] = None
    job_template: Annotated[JobTemplateSpec, Schema(required=True, doc="The job to create at each start.")] = field(
        default_factory=JobTemplateSpec
    )
    successful_jobs_history_limit: Annotated[
        int | None, Schema(default=3, format="int32", minimum=0, doc="Completed jobs to keep.")
    ] = None
    failed_jobs_history_limit: Annotated[
        int | None, Schema(default=1, format="int32", minimum=0, doc="Failed jobs to keep.")
    ] = None


class CronJobStatus(Model, kw_only=True):
    active: Annotated[
        list[ObjectReference], Schema(list_type="atomic", items=Schema(map_type="atomic"), doc="Jobs that run now.")
    ] = []
    last_schedule_time: Annotated[Time | None, Schema(doc="When a job was last started.")] = None
    last_successful_time: Annotated[Time | None, Schema(doc="When a job last completed.")] = None


class CronJob(Model, kw_only=True):
    """Starts a Job on a schedule."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[CronJobSpec, Schema(doc="What the user wants.")] = field(default_factory=CronJobSpec)
    status: Annotated[CronJobStatus, Schema(doc="What the controller sees.")] = field(default_factory=CronJobStatus)
