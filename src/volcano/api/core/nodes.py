"""Node: capacity, taints, conditions, images, addresses."""

from __future__ import annotations

from msgspec import field

from volcano.api.meta import Model, ObjectMeta, ResourceList, Time, Value


class Taint(Value, kw_only=True, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: Time | None = None


class NodeSpec(Model, kw_only=True):
    pod_cidr: str = field(default="", name="podCIDR")
    pod_cidrs: list[str] = field(default_factory=list, name="podCIDRs")
    provider_id: str = field(default="", name="providerID")
    unschedulable: bool = False
    taints: list[Taint] = []


class NodeCondition(Model, kw_only=True):
    type: str = ""
    status: str = ""
    last_heartbeat_time: Time | None = None
    last_transition_time: Time | None = None
    reason: str = ""
    message: str = ""


class NodeAddress(Value, kw_only=True, frozen=True):
    type: str = ""
    address: str = ""


class DaemonEndpoint(Value, kw_only=True, frozen=True):
    port: int = field(default=0, name="Port")


class NodeDaemonEndpoints(Value, kw_only=True, frozen=True):
    kubelet_endpoint: DaemonEndpoint = field(default_factory=DaemonEndpoint)


class NodeSystemInfo(Value, kw_only=True, frozen=True):
    machine_id: str = field(default="", name="machineID")
    system_uuid: str = field(default="", name="systemUUID")
    boot_id: str = field(default="", name="bootID")
    kernel_version: str = ""
    os_image: str = ""
    container_runtime_version: str = ""
    kubelet_version: str = ""
    kube_proxy_version: str = ""
    operating_system: str = ""
    architecture: str = ""


class ContainerImage(Model, kw_only=True):
    names: list[str] = []
    size_bytes: int = 0


class AttachedVolume(Value, kw_only=True, frozen=True):
    name: str = ""
    device_path: str = ""


class NodeStatus(Model, kw_only=True):
    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    phase: str = ""
    conditions: list[NodeCondition] = []
    addresses: list[NodeAddress] = []
    daemon_endpoints: NodeDaemonEndpoints = field(default_factory=NodeDaemonEndpoints)
    node_info: NodeSystemInfo = field(default_factory=NodeSystemInfo)
    images: list[ContainerImage] = []
    volumes_in_use: list[str] = []
    volumes_attached: list[AttachedVolume] = []
    declared_features: list[str] = []


class Node(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)
