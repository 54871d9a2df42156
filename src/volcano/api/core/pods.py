"""Pod, with every field that scheduling, admission and the local node read.

Neighbours: affinity.py (placement terms), volumes.py (volumes and claims), nodes.py.
"""

from __future__ import annotations

from msgspec import field

from volcano.api.core.affinity import Affinity, TopologySpreadConstraint
from volcano.api.core.volumes import Volume
from volcano.api.meta import IntOrString, JsonObject, LocalObjectReference, Model, ObjectMeta, ResourceList, Time, Value


class Toleration(Value, kw_only=True, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class ContainerPort(Value, kw_only=True, frozen=True):
    name: str = ""
    host_port: int = 0
    container_port: int = 0
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")


class ObjectFieldSelector(Value, kw_only=True, frozen=True):
    api_version: str = ""
    field_path: str = ""


class ResourceFieldSelector(Value, kw_only=True, frozen=True):
    container_name: str = ""
    resource: str = ""
    divisor: str | int | float = ""


class KeySelector(Value, kw_only=True, frozen=True):
    """One key of a ConfigMap or Secret."""

    name: str = ""
    key: str = ""
    optional: bool | None = None


class EnvVarSource(Model, kw_only=True):
    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    config_map_key_ref: KeySelector | None = None
    secret_key_ref: KeySelector | None = None


class EnvVar(Model, kw_only=True):
    name: str = ""
    value: str = ""
    value_from: EnvVarSource | None = None


class EnvSource(Value, kw_only=True, frozen=True):
    name: str = ""
    optional: bool | None = None


class EnvFromSource(Model, kw_only=True):
    prefix: str = ""
    config_map_ref: EnvSource | None = None
    secret_ref: EnvSource | None = None


class VolumeMount(Model, kw_only=True):
    name: str = ""
    mount_path: str = ""
    read_only: bool = False
    sub_path: str = ""
    sub_path_expr: str = ""
    mount_propagation: str | None = None


class VolumeDevice(Value, kw_only=True, frozen=True):
    name: str = ""
    device_path: str = ""


class ResourceClaimUse(Value, kw_only=True, frozen=True):
    """A container's reference to one of the pod's resource claims."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Model, kw_only=True):
    limits: ResourceList = {}
    requests: ResourceList = {}
    claims: list[ResourceClaimUse] = []


class ExecAction(Model, kw_only=True):
    command: list[str] = []


class HttpHeader(Value, kw_only=True, frozen=True):
    name: str = ""
    value: str = ""


class HttpGetAction(Model, kw_only=True):
    path: str = ""
    port: IntOrString = 0
    host: str = ""
    scheme: str = ""
    http_headers: list[HttpHeader] = []


class TcpSocketAction(Value, kw_only=True, frozen=True):
    port: IntOrString = 0
    host: str = ""


class SleepAction(Value, kw_only=True, frozen=True):
    seconds: int = 0


class Probe(Model, kw_only=True):
    exec: ExecAction | None = None
    http_get: HttpGetAction | None = None
    tcp_socket: TcpSocketAction | None = None
    grpc: JsonObject | None = None
    initial_delay_seconds: int = 0
    timeout_seconds: int = 0
    period_seconds: int = 0
    success_threshold: int = 0
    failure_threshold: int = 0
    termination_grace_period_seconds: int | None = None


class LifecycleHandler(Model, kw_only=True):
    exec: ExecAction | None = None
    http_get: HttpGetAction | None = None
    tcp_socket: TcpSocketAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(Model, kw_only=True):
    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str | None = None


class SecurityContext(Model, kw_only=True):
    privileged: bool | None = None
    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    read_only_root_filesystem: bool | None = None
    allow_privilege_escalation: bool | None = None
    capabilities: JsonObject | None = None


class ContainerExitCodes(Model, kw_only=True):
    operator: str = ""
    values: list[int] = []


class ContainerRestartRule(Model, kw_only=True):
    action: str = ""
    exit_codes: ContainerExitCodes | None = None


class Container(Model, kw_only=True):
    name: str = ""
    image: str = ""
    command: list[str] = []
    args: list[str] = []
    working_dir: str = ""
    ports: list[ContainerPort] = []
    env_from: list[EnvFromSource] = []
    env: list[EnvVar] = []
    resources: ResourceRequirements = field(default_factory=ResourceRequirements)
    restart_policy: str | None = None
    restart_policy_rules: list[ContainerRestartRule] = []
    volume_mounts: list[VolumeMount] = []
    volume_devices: list[VolumeDevice] = []
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    termination_message_path: str = ""
    termination_message_policy: str = ""
    image_pull_policy: str = ""
    security_context: SecurityContext | None = None
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False


class PodSecurityContext(Model, kw_only=True):
    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    fs_group: int | None = None
    supplemental_groups: list[int] = []
    sysctls: list[JsonObject] = []


class PodSchedulingGate(Value, kw_only=True, frozen=True):
    name: str = ""


class PodResourceClaim(Value, kw_only=True, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodReadinessGate(Value, kw_only=True, frozen=True):
    condition_type: str = ""


class HostAlias(Model, kw_only=True):
    ip: str = ""
    hostnames: list[str] = []


class PodOs(Value, kw_only=True, frozen=True):
    name: str = ""


class PodSpec(Model, kw_only=True):
    volumes: list[Volume] = []
    init_containers: list[Container] = []
    containers: list[Container] = []
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    dns_policy: str = ""
    node_selector: dict[str, str] = {}
    service_account_name: str = ""
    service_account: str = ""
    automount_service_account_token: bool | None = None
    node_name: str = ""
    host_network: bool = False
    host_pid: bool = field(default=False, name="hostPID")
    host_ipc: bool = field(default=False, name="hostIPC")
    share_process_namespace: bool | None = None
    security_context: PodSecurityContext | None = None
    image_pull_secrets: list[LocalObjectReference] = []
    hostname: str = ""
    subdomain: str = ""
    affinity: Affinity | None = None
    scheduler_name: str = ""
    tolerations: list[Toleration] = []
    host_aliases: list[HostAlias] = []
    priority_class_name: str = ""
    priority: int | None = None
    readiness_gates: list[PodReadinessGate] = []
    runtime_class_name: str | None = None
    enable_service_links: bool | None = None
    preemption_policy: str | None = None
    overhead: ResourceList = {}
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    set_hostname_as_fqdn: bool | None = field(default=None, name="setHostnameAsFQDN")
    os: PodOs | None = None
    host_users: bool | None = None
    scheduling_gates: list[PodSchedulingGate] = []
    resource_claims: list[PodResourceClaim] = []
    resources: ResourceRequirements | None = None


class PodCondition(Model, kw_only=True):
    type: str = ""
    status: str = ""
    observed_generation: int = 0
    last_probe_time: Time | None = None
    last_transition_time: Time | None = None
    reason: str = ""
    message: str = ""


class ContainerStateWaiting(Model, kw_only=True):
    reason: str = ""
    message: str = ""


class ContainerStateRunning(Model, kw_only=True):
    started_at: Time | None = None


class ContainerStateTerminated(Model, kw_only=True):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: Time | None = None
    finished_at: Time | None = None
    container_id: str = field(default="", name="containerID")


class ContainerState(Model, kw_only=True):
    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Model, kw_only=True):
    name: str = ""
    state: ContainerState = field(default_factory=ContainerState)
    last_state: ContainerState = field(default_factory=ContainerState)
    ready: bool = False
    restart_count: int = 0
    image: str = ""
    image_id: str = field(default="", name="imageID")
    container_id: str = field(default="", name="containerID")
    started: bool | None = None
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None


class Ip(Value, kw_only=True, frozen=True):
    ip: str = ""


class PodResourceClaimStatus(Value, kw_only=True, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(Model, kw_only=True):
    observed_generation: int = 0
    phase: str = ""
    conditions: list[PodCondition] = []
    message: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    host_ip: str = field(default="", name="hostIP")
    host_ips: list[Ip] = field(default_factory=list, name="hostIPs")
    pod_ip: str = field(default="", name="podIP")
    pod_ips: list[Ip] = field(default_factory=list, name="podIPs")
    start_time: Time | None = None
    init_container_statuses: list[ContainerStatus] = []
    container_statuses: list[ContainerStatus] = []
    ephemeral_container_statuses: list[ContainerStatus] = []
    qos_class: str = ""
    resize: str = ""
    resource_claim_statuses: list[PodResourceClaimStatus] = []


class Pod(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


class PodTemplateSpec(Model, kw_only=True):
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PodSpec = field(default_factory=PodSpec)
