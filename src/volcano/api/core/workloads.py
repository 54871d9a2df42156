"""Kubernetes' own workloads as far as we own, spread over or run them: apps/v1 and batch/v1."""

from __future__ import annotations

from msgspec import field

from volcano.api.core.pods import PodTemplateSpec
from volcano.api.meta import IntOrString, JsonObject, LabelSelector, Model, ObjectMeta, Time


class WorkloadCondition(Model, kw_only=True):
    """Condition of a Deployment, ReplicaSet, StatefulSet, DaemonSet or batch Job."""

    type: str = ""
    status: str = ""
    last_probe_time: Time | None = None
    last_update_time: Time | None = None
    last_transition_time: Time | None = None
    reason: str = ""
    message: str = ""


class ReplicaSetSpec(Model, kw_only=True):
    replicas: int | None = None
    min_ready_seconds: int = 0
    selector: LabelSelector | None = None
    template: PodTemplateSpec = field(default_factory=PodTemplateSpec)


class ReplicaSetStatus(Model, kw_only=True):
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    observed_generation: int = 0
    conditions: list[WorkloadCondition] = []


class ReplicaSet(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ReplicaSetSpec = field(default_factory=ReplicaSetSpec)
    status: ReplicaSetStatus = field(default_factory=ReplicaSetStatus)


class ReplicationControllerSpec(Model, kw_only=True):
    replicas: int | None = None
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None


class ReplicationController(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ReplicationControllerSpec = field(default_factory=ReplicationControllerSpec)


class RollingUpdate(Model, kw_only=True):
    max_unavailable: IntOrString | None = None
    max_surge: IntOrString | None = None
    partition: int | None = None


class UpdateStrategy(Model, kw_only=True):
    type: str = ""
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Model, kw_only=True):
    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = field(default_factory=PodTemplateSpec)
    strategy: UpdateStrategy = field(default_factory=UpdateStrategy)
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None
    paused: bool = False
    progress_deadline_seconds: int | None = None


class DeploymentStatus(Model, kw_only=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    conditions: list[WorkloadCondition] = []
    collision_count: int | None = None


class Deployment(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: DeploymentSpec = field(default_factory=DeploymentSpec)
    status: DeploymentStatus = field(default_factory=DeploymentStatus)


class StatefulSetSpec(Model, kw_only=True):
    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = field(default_factory=PodTemplateSpec)
    volume_claim_templates: list[JsonObject] = []
    service_name: str = ""
    pod_management_policy: str = ""
    update_strategy: UpdateStrategy = field(default_factory=UpdateStrategy)
    revision_history_limit: int | None = None
    min_ready_seconds: int = 0


class StatefulSetStatus(Model, kw_only=True):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    conditions: list[WorkloadCondition] = []


class StatefulSet(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: StatefulSetSpec = field(default_factory=StatefulSetSpec)
    status: StatefulSetStatus = field(default_factory=StatefulSetStatus)


class DaemonSetSpec(Model, kw_only=True):
    selector: LabelSelector | None = None
    template: PodTemplateSpec = field(default_factory=PodTemplateSpec)
    update_strategy: UpdateStrategy = field(default_factory=UpdateStrategy)
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None


class DaemonSetStatus(Model, kw_only=True):
    current_number_scheduled: int = 0
    number_misscheduled: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    observed_generation: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0
    number_unavailable: int = 0


class DaemonSet(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: DaemonSetSpec = field(default_factory=DaemonSetSpec)
    status: DaemonSetStatus = field(default_factory=DaemonSetStatus)


class BatchJobSpec(Model, kw_only=True):
    parallelism: int | None = None
    completions: int | None = None
    active_deadline_seconds: int | None = None
    pod_failure_policy: JsonObject | None = None
    success_policy: JsonObject | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    selector: LabelSelector | None = None
    manual_selector: bool | None = None
    template: PodTemplateSpec = field(default_factory=PodTemplateSpec)
    ttl_seconds_after_finished: int | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None


class BatchJobStatus(Model, kw_only=True):
    conditions: list[WorkloadCondition] = []
    start_time: Time | None = None
    completion_time: Time | None = None
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: JsonObject | None = None
    ready: int | None = None


class BatchJob(Model, kw_only=True):
    """Kubernetes' batch/v1 Job (Volcano's own Job is `volcano.api.batch.Job`)."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: BatchJobSpec = field(default_factory=BatchJobSpec)
    status: BatchJobStatus = field(default_factory=BatchJobStatus)
