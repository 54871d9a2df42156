"""Volumes of pods, claims, persistent volumes and what storage tells the scheduler."""

from __future__ import annotations

from msgspec import field

from volcano.api.core.affinity import NodeSelector
from volcano.api.meta import (
    JsonObject,
    LabelSelector,
    Model,
    ObjectMeta,
    ObjectReference,
    ResourceList,
    Time,
    Value,
)


class KeyToPath(Value, kw_only=True, frozen=True):
    key: str = ""
    path: str = ""
    mode: int | None = None


class ConfigMapVolume(Model, kw_only=True):
    name: str = ""
    items: list[KeyToPath] = []
    default_mode: int | None = None
    optional: bool | None = None


class SecretVolume(Model, kw_only=True):
    secret_name: str = ""
    items: list[KeyToPath] = []
    default_mode: int | None = None
    optional: bool | None = None


class EmptyDirVolume(Model, kw_only=True):
    medium: str = ""
    size_limit: str | int | float | None = None


class HostPathVolume(Model, kw_only=True):
    path: str = ""
    type: str | None = None


class ClaimVolume(Value, kw_only=True, frozen=True):
    claim_name: str = ""
    read_only: bool = False


class CsiVolume(Model, kw_only=True):
    driver: str = ""
    read_only: bool | None = None
    fs_type: str | None = None
    volume_attributes: dict[str, str] = {}
    volume_handle: str = ""


class NfsVolume(Value, kw_only=True, frozen=True):
    server: str = ""
    path: str = ""
    read_only: bool = False


class IscsiVolume(Model, kw_only=True):
    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    read_only: bool = False


class RbdVolume(Model, kw_only=True):
    monitors: list[str] = []
    image: str = ""
    pool: str = ""
    read_only: bool = False


class AwsElasticBlockStoreVolume(Model, kw_only=True):
    volume_id: str = field(default="", name="volumeID")
    partition: int = 0
    read_only: bool = False


class GcePersistentDiskVolume(Model, kw_only=True):
    pd_name: str = ""
    partition: int = 0
    read_only: bool = False


class LocalVolume(Model, kw_only=True):
    path: str = ""
    fs_type: str | None = None


class TypedReference(Model, kw_only=True):
    api_group: str | None = None
    kind: str = ""
    name: str = ""
    namespace: str | None = None


class VolumeResources(Model, kw_only=True):
    limits: ResourceList = {}
    requests: ResourceList = {}


class PersistentVolumeClaimSpec(Model, kw_only=True):
    access_modes: list[str] = []
    selector: LabelSelector | None = None
    resources: VolumeResources = field(default_factory=VolumeResources)
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    data_source: TypedReference | None = None
    data_source_ref: TypedReference | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(Model, kw_only=True):
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PersistentVolumeClaimSpec = field(default_factory=PersistentVolumeClaimSpec)


class EphemeralVolume(Model, kw_only=True):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class ProjectedVolume(Model, kw_only=True):
    sources: list[JsonObject] = []
    default_mode: int | None = None


class DownwardApiVolume(Model, kw_only=True):
    items: list[JsonObject] = []
    default_mode: int | None = None


class Volume(Model, kw_only=True):
    """A pod's volume: exactly one source is set; sources we never look into are not decoded."""

    name: str = ""
    host_path: HostPathVolume | None = None
    empty_dir: EmptyDirVolume | None = None
    secret: SecretVolume | None = None
    config_map: ConfigMapVolume | None = None
    projected: ProjectedVolume | None = None
    downward_api: DownwardApiVolume | None = field(default=None, name="downwardAPI")
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    csi: CsiVolume | None = None
    nfs: NfsVolume | None = None
    iscsi: IscsiVolume | None = None
    rbd: RbdVolume | None = None
    aws_elastic_block_store: AwsElasticBlockStoreVolume | None = None
    gce_persistent_disk: GcePersistentDiskVolume | None = None


class PersistentVolumeClaimStatus(Model, kw_only=True):
    phase: str = ""
    access_modes: list[str] = []
    capacity: ResourceList = {}


class PersistentVolumeClaim(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PersistentVolumeClaimSpec = field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = field(default_factory=PersistentVolumeClaimStatus)


class VolumeNodeAffinity(Model, kw_only=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(Model, kw_only=True):
    capacity: ResourceList = {}
    access_modes: list[str] = []
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    mount_options: list[str] = []
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    csi: CsiVolume | None = None
    host_path: HostPathVolume | None = None
    local: LocalVolume | None = None
    nfs: NfsVolume | None = None
    aws_elastic_block_store: AwsElasticBlockStoreVolume | None = None
    gce_persistent_disk: GcePersistentDiskVolume | None = None


class PersistentVolumeStatus(Model, kw_only=True):
    phase: str = ""
    message: str = ""
    reason: str = ""
    last_phase_transition_time: Time | None = None


class PersistentVolume(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PersistentVolumeSpec = field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus = field(default_factory=PersistentVolumeStatus)


class TopologySelectorLabelRequirement(Model, kw_only=True):
    key: str = ""
    values: list[str] = []


class TopologySelectorTerm(Model, kw_only=True):
    match_label_expressions: list[TopologySelectorLabelRequirement] = []


class StorageClass(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    provisioner: str = ""
    parameters: dict[str, str] = {}
    reclaim_policy: str | None = None
    mount_options: list[str] = []
    allow_volume_expansion: bool | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologySelectorTerm] = []


class VolumeNodeResources(Model, kw_only=True):
    count: int | None = None


class CsiNodeDriver(Model, kw_only=True):
    name: str = ""
    node_id: str = field(default="", name="nodeID")
    topology_keys: list[str] = []
    allocatable: VolumeNodeResources | None = None


class CsiNodeSpec(Model, kw_only=True):
    drivers: list[CsiNodeDriver] = []


class CsiNode(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: CsiNodeSpec = field(default_factory=CsiNodeSpec)


class CsiDriverSpec(Model, kw_only=True):
    attach_required: bool | None = None
    storage_capacity: bool | None = None


class CsiDriver(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: CsiDriverSpec = field(default_factory=CsiDriverSpec)


class CsiStorageCapacity(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None


class VolumeAttachmentSource(Model, kw_only=True):
    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Model, kw_only=True):
    attacher: str = ""
    source: VolumeAttachmentSource = field(default_factory=VolumeAttachmentSource)
    node_name: str = ""


class VolumeAttachmentStatus(Model, kw_only=True):
    attached: bool = False


class VolumeAttachment(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: VolumeAttachmentSpec = field(default_factory=VolumeAttachmentSpec)
    status: VolumeAttachmentStatus = field(default_factory=VolumeAttachmentStatus)
