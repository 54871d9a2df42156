"""Dynamic resource allocation (resource.k8s.io/v1): what drivers offer, what pods claim, what has been allocated."""

from __future__ import annotations

from typing import Any

from msgspec import field

from volcano.api.core.affinity import NodeSelector
from volcano.api.core.pods import Toleration
from volcano.api.meta import Model, ObjectMeta


class CelSelector(Model, kw_only=True):
    expression: str = ""


class DeviceSelector(Model, kw_only=True):
    cel: CelSelector | None = None


class ExactRequest(Model, kw_only=True):
    """What is wanted of one class; `name` only where it is one of several alternatives."""

    name: str = ""
    device_class_name: str = ""
    selectors: list[DeviceSelector] = []
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: list[Toleration] = []
    capacity: dict[str, Any] | None = None


class DeviceRequest(Model, kw_only=True):
    name: str = ""
    exactly: ExactRequest | None = None
    first_available: list[ExactRequest] = []


class DeviceConstraint(Model, kw_only=True):
    requests: list[str] = []
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Model, kw_only=True):
    requests: list[DeviceRequest] = []
    constraints: list[DeviceConstraint] = []
    config: list[dict[str, Any]] = []


class ResourceClaimSpec(Model, kw_only=True):
    devices: DeviceClaim = field(default_factory=DeviceClaim)


class AllocatedDevice(Model, kw_only=True):
    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: list[Toleration] = []
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: dict[str, Any] = {}
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []


class AllocatedDevices(Model, kw_only=True):
    results: list[AllocatedDevice] = []
    config: list[dict[str, Any]] = []


class ClaimAllocation(Model, kw_only=True):
    devices: AllocatedDevices = field(default_factory=AllocatedDevices)
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ClaimConsumer(Model, kw_only=True):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class ResourceClaimStatus(Model, kw_only=True):
    allocation: ClaimAllocation | None = None
    reserved_for: list[ClaimConsumer] = []
    devices: list[dict[str, Any]] = []


class ResourceClaim(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ResourceClaimSpec = field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = field(default_factory=ResourceClaimStatus)


class DeviceClassSpec(Model, kw_only=True):
    selectors: list[DeviceSelector] = []
    config: list[dict[str, Any]] = []
    extended_resource_name: str | None = None


class DeviceClass(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: DeviceClassSpec = field(default_factory=DeviceClassSpec)


class DeviceTaint(Model, kw_only=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class DeviceTaintSelector(Model, kw_only=True):
    """All of it has to be true of a device."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Model, kw_only=True):
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = field(default_factory=DeviceTaint)


class DeviceTaintRule(Model, kw_only=True):
    """An administrator's taint for devices (resource.k8s.io/v1beta2)."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: DeviceTaintRuleSpec = field(default_factory=DeviceTaintRuleSpec)


class CounterUse(Model, kw_only=True):
    counter_set: str = ""
    counters: dict[str, dict[str, Any]] = {}


class Device(Model, kw_only=True):
    name: str = ""
    attributes: dict[str, dict[str, Any]] = {}
    capacity: dict[str, dict[str, Any]] = {}
    taints: list[DeviceTaint] = []
    consumes_counters: list[CounterUse] = []
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    allow_multiple_allocations: bool | None = None
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    binds_to_node: bool | None = None


class CounterSet(Model, kw_only=True):
    name: str = ""
    counters: dict[str, dict[str, Any]] = {}


class ResourcePool(Model, kw_only=True):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(Model, kw_only=True):
    driver: str = ""
    pool: ResourcePool = field(default_factory=ResourcePool)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[Device] = []
    shared_counters: list[CounterSet] = []


class ResourceSlice(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ResourceSliceSpec = field(default_factory=ResourceSliceSpec)
