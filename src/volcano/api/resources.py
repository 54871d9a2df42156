"""Where each kind lives in the API: one constant per resource, used by clients, informers and the local API server.

The types are imported when somebody decodes into them: commands that print documents start without.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from volcano.api.resource import (
    ALL_VERBS,
    CREATE_ONLY,
    DOCUMENTS,
    SCALE,
    STATUS,
    Column,
    JsonObject,
    Resource as Resource,  # noqa: PLC0414 - part of this module's face
    Subresource,
)

if TYPE_CHECKING:
    from volcano.api import admission, batch, bus, config, core, flow, nodeinfo, scheduling, shard, topology
else:

    class Later:
        """A module of types, imported with the first of them."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            found = self.__dict__[name] = getattr(importlib.import_module(self._name), name)
            return found

    admission, batch, bus, config, core, flow, nodeinfo, scheduling, shard, topology = (
        Later(f"volcano.api.{name}")
        for name in [
            "admission",
            "batch",
            "bus",
            "config",
            "core",
            "flow",
            "nodeinfo",
            "scheduling",
            "shard",
            "topology",
        ]
    )

T = TypeVar("T")
Load = Callable[[], type[T]]


@dataclass(frozen=True, slots=True)
class _Group:
    """A version of an API group: calling it makes the resource of one of its kinds."""

    group: str
    version: str
    custom: bool = False

    def __call__(
        self,
        kind: str,
        load: Load[T],
        *short_names: str,
        plural: str = "",
        namespaced: bool = True,
        status: bool = False,
        scale: bool = False,
        subresources: tuple[Subresource, ...] = (),
        **more: Any,
    ) -> Resource[T]:
        """`plural` where it is not the usual one of `kind`."""
        return Resource(
            group=self.group,
            version=self.version,
            plural=plural or _plural(kind.lower()),
            kind=kind,
            namespaced=namespaced,
            load=load,
            singular=kind.lower(),
            short_names=short_names,
            subresources=(*(STATUS,) * status, *(SCALE,) * scale, *subresources),
            custom=self.custom,
            **more,
        )


def _plural(word: str) -> str:
    if word.endswith("y"):
        return f"{word.removesuffix('y')}ies"
    return f"{word}es" if word.endswith("s") else f"{word}s"


def _post(name: str, kind: str, group: str, version: str) -> Subresource:
    return Subresource(name=name, verbs=CREATE_ONLY, kind=kind, group=group, version=version)


def _stream(name: str, kind: str) -> Subresource:
    return Subresource(name=name, verbs=("create", "get"), kind=kind, group="", version="v1")


_AGE: Final = Column(name="AGE", type="date", json_path=".metadata.creationTimestamp")
_AGE_CAPITALIZED: Final = Column(name="Age", type="date", json_path=".metadata.creationTimestamp")
_SPEC_QUEUE: Final = Column(name="QUEUE", type="string", json_path=".spec.queue", priority=1)
_ALL: Final = ("all",)

_CORE: Final = _Group("", "v1")
PODS: Final = _CORE(
    "Pod",
    lambda: core.Pod,
    "po",
    categories=_ALL,
    status=True,
    subresources=(
        _post("binding", "Binding", "", "v1"),
        _post("eviction", "Eviction", "policy", "v1"),
        Subresource(name="log", verbs=("get",)),
        _stream("attach", "PodAttachOptions"),
        _stream("exec", "PodExecOptions"),
        _stream("portforward", "PodPortForwardOptions"),
    ),
)
NODES: Final = _CORE(
    "Node",
    lambda: core.Node,
    "no",
    namespaced=False,
    status=True,
    subresources=(Subresource(name="proxy", verbs=("get",)),),
)
NAMESPACES: Final = _CORE(
    "Namespace",
    lambda: core.Namespace,
    "ns",
    namespaced=False,
    verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
    status=True,
    subresources=(Subresource(name="finalize", verbs=("update",)),),
)
EVENTS: Final = _CORE("Event", lambda: core.Event, "ev")
SERVICES: Final = _CORE("Service", lambda: core.Service, "svc", categories=_ALL, status=True)
CONFIGMAPS: Final = _CORE("ConfigMap", lambda: core.ConfigMap, "cm")
SECRETS: Final = _CORE("Secret", lambda: core.Secret)
SERVICE_ACCOUNTS: Final = _CORE(
    "ServiceAccount",
    lambda: core.ServiceAccount,
    "sa",
    subresources=(_post("token", "TokenRequest", "authentication.k8s.io", "v1"),),
)
PERSISTENT_VOLUME_CLAIMS: Final = _CORE("PersistentVolumeClaim", lambda: core.PersistentVolumeClaim, "pvc", status=True)
PERSISTENT_VOLUMES: Final = _CORE(
    "PersistentVolume", lambda: core.PersistentVolume, "pv", namespaced=False, status=True
)
RESOURCE_QUOTAS: Final = _CORE("ResourceQuota", lambda: core.ResourceQuota, "quota", status=True)
LIMIT_RANGES: Final = _CORE("LimitRange", lambda: core.LimitRange, "limits")
ENDPOINTS: Final[Resource[JsonObject]] = _CORE("Endpoints", DOCUMENTS, "ep", plural="endpoints")
POD_TEMPLATES: Final[Resource[JsonObject]] = _CORE("PodTemplate", DOCUMENTS)
REPLICATION_CONTROLLERS: Final = _CORE(
    "ReplicationController", lambda: core.ReplicationController, "rc", categories=_ALL, status=True, scale=True
)
BINDINGS: Final = _CORE("Binding", lambda: core.Binding, verbs=CREATE_ONLY)

_APPS: Final = _Group("apps", "v1")
REPLICA_SETS: Final = _APPS("ReplicaSet", lambda: core.ReplicaSet, "rs", categories=_ALL, status=True, scale=True)
DEPLOYMENTS: Final = _APPS("Deployment", lambda: core.Deployment, "deploy", categories=_ALL, status=True, scale=True)
STATEFUL_SETS: Final = _APPS("StatefulSet", lambda: core.StatefulSet, "sts", categories=_ALL, status=True, scale=True)
DAEMON_SETS: Final = _APPS("DaemonSet", lambda: core.DaemonSet, "ds", categories=_ALL, status=True)
CONTROLLER_REVISIONS: Final[Resource[JsonObject]] = _APPS("ControllerRevision", DOCUMENTS)

_BATCH: Final = _Group("batch", "v1")
BATCH_JOBS: Final = _BATCH("Job", lambda: core.BatchJob, categories=_ALL, status=True)
BATCH_CRON_JOBS: Final[Resource[JsonObject]] = _BATCH("CronJob", DOCUMENTS, "cj", categories=_ALL, status=True)

POD_DISRUPTION_BUDGETS: Final = _Group("policy", "v1")(
    "PodDisruptionBudget", lambda: core.PodDisruptionBudget, "pdb", status=True
)
PRIORITY_CLASSES: Final = _Group("scheduling.k8s.io", "v1")(
    "PriorityClass", lambda: core.PriorityClass, "pc", namespaced=False
)
LEASES: Final = _Group("coordination.k8s.io", "v1")("Lease", lambda: core.Lease)

_STORAGE: Final = _Group("storage.k8s.io", "v1")
STORAGE_CLASSES: Final = _STORAGE("StorageClass", lambda: core.StorageClass, "sc", namespaced=False)
CSI_NODES: Final = _STORAGE("CSINode", lambda: core.CsiNode, namespaced=False)
CSI_DRIVERS: Final = _STORAGE("CSIDriver", lambda: core.CsiDriver, namespaced=False)
CSI_STORAGE_CAPACITIES: Final = _STORAGE("CSIStorageCapacity", lambda: core.CsiStorageCapacity)
VOLUME_ATTACHMENTS: Final = _STORAGE("VolumeAttachment", lambda: core.VolumeAttachment, namespaced=False, status=True)

ENDPOINT_SLICES: Final[Resource[JsonObject]] = _Group("discovery.k8s.io", "v1")("EndpointSlice", DOCUMENTS)

_NETWORKING: Final = _Group("networking.k8s.io", "v1")
NETWORK_POLICIES: Final = _NETWORKING("NetworkPolicy", lambda: core.NetworkPolicy, "netpol")
INGRESSES: Final[Resource[JsonObject]] = _NETWORKING("Ingress", DOCUMENTS, "ing", status=True)
INGRESS_CLASSES: Final[Resource[JsonObject]] = _NETWORKING("IngressClass", DOCUMENTS, namespaced=False)

EVENTS_V1: Final[Resource[JsonObject]] = _Group("events.k8s.io", "v1")("Event", DOCUMENTS, "ev")
HORIZONTAL_POD_AUTOSCALERS: Final[Resource[JsonObject]] = _Group("autoscaling", "v2")(
    "HorizontalPodAutoscaler", DOCUMENTS, "hpa", categories=_ALL, status=True
)

_DEVICES: Final = _Group("resource.k8s.io", "v1")
RESOURCE_CLAIMS: Final = _DEVICES("ResourceClaim", lambda: core.ResourceClaim, status=True)
RESOURCE_CLAIM_TEMPLATES: Final[Resource[JsonObject]] = _DEVICES("ResourceClaimTemplate", DOCUMENTS)
RESOURCE_SLICES: Final = _DEVICES("ResourceSlice", lambda: core.ResourceSlice, namespaced=False)
DEVICE_CLASSES: Final = _DEVICES("DeviceClass", lambda: core.DeviceClass, namespaced=False)

DEVICE_TAINT_RULES: Final = _Group("resource.k8s.io", "v1beta2")(
    "DeviceTaintRule", lambda: core.DeviceTaintRule, namespaced=False
)

_RBAC: Final = _Group("rbac.authorization.k8s.io", "v1")
ROLES: Final = _RBAC("Role", lambda: core.Role)
ROLE_BINDINGS: Final = _RBAC("RoleBinding", lambda: core.RoleBinding)
CLUSTER_ROLES: Final = _RBAC("ClusterRole", lambda: core.ClusterRole, namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = _RBAC("ClusterRoleBinding", lambda: core.ClusterRoleBinding, namespaced=False)

_ADMISSION: Final = _Group("admissionregistration.k8s.io", "v1")
MUTATING_WEBHOOKS: Final = _ADMISSION(
    "MutatingWebhookConfiguration", lambda: admission.MutatingWebhookConfiguration, namespaced=False
)
VALIDATING_WEBHOOKS: Final = _ADMISSION(
    "ValidatingWebhookConfiguration", lambda: admission.ValidatingWebhookConfiguration, namespaced=False
)
CUSTOM_RESOURCE_DEFINITIONS: Final[Resource[JsonObject]] = _Group("apiextensions.k8s.io", "v1")(
    "CustomResourceDefinition", DOCUMENTS, "crd", "crds", namespaced=False, status=True
)

# Reviews: answered, never stored
_AUTHORIZATION: Final = _Group("authorization.k8s.io", "v1")
_AUTHENTICATION: Final = _Group("authentication.k8s.io", "v1")
SELF_SUBJECT_ACCESS_REVIEWS: Final[Resource[JsonObject]] = _AUTHORIZATION(
    "SelfSubjectAccessReview", DOCUMENTS, namespaced=False, verbs=CREATE_ONLY
)
SELF_SUBJECT_RULES_REVIEWS: Final[Resource[JsonObject]] = _AUTHORIZATION(
    "SelfSubjectRulesReview", DOCUMENTS, namespaced=False, verbs=CREATE_ONLY
)
SUBJECT_ACCESS_REVIEWS: Final[Resource[JsonObject]] = _AUTHORIZATION(
    "SubjectAccessReview", DOCUMENTS, namespaced=False, verbs=CREATE_ONLY
)
LOCAL_SUBJECT_ACCESS_REVIEWS: Final[Resource[JsonObject]] = _AUTHORIZATION(
    "LocalSubjectAccessReview", DOCUMENTS, verbs=CREATE_ONLY
)
TOKEN_REVIEWS: Final[Resource[JsonObject]] = _AUTHENTICATION(
    "TokenReview", DOCUMENTS, namespaced=False, verbs=CREATE_ONLY
)
SELF_SUBJECT_REVIEWS: Final[Resource[JsonObject]] = _AUTHENTICATION(
    "SelfSubjectReview", DOCUMENTS, namespaced=False, verbs=CREATE_ONLY
)

# What the API server asks the nodes about: read only, never stored
_METRICS: Final = _Group("metrics.k8s.io", "v1beta1")
NODE_METRICS: Final[Resource[JsonObject]] = _METRICS(
    "NodeMetrics", DOCUMENTS, plural="nodes", namespaced=False, verbs=("get", "list")
)
POD_METRICS: Final[Resource[JsonObject]] = _METRICS("PodMetrics", DOCUMENTS, plural="pods", verbs=("get", "list"))

# Volcano
_VOLCANO_BATCH: Final = _Group("batch.volcano.sh", "v1alpha1", custom=True)
JOBS: Final = _VOLCANO_BATCH(
    "Job",
    lambda: batch.Job,
    "vcjob",
    "vj",
    status=True,
    columns=(
        Column(name="STATUS", type="string", json_path=".status.state.phase"),
        Column(name="minAvailable", type="integer", json_path=".status.minAvailable"),
        Column(name="RUNNINGS", type="integer", json_path=".status.running"),
        _AGE,
        _SPEC_QUEUE,
    ),
)
CRON_JOBS: Final = _VOLCANO_BATCH("CronJob", lambda: batch.CronJob, "cronvcjob", "cronvj", status=True)
COMMANDS: Final = _Group("bus.volcano.sh", "v1alpha1", custom=True)("Command", lambda: bus.Command)

_VOLCANO_SCHEDULING: Final = _Group("scheduling.volcano.sh", "v1beta1", custom=True)
PODGROUPS: Final = _VOLCANO_SCHEDULING(
    "PodGroup",
    lambda: scheduling.PodGroup,
    "pg",
    "podgroup-v1beta1",
    columns=(
        Column(name="STATUS", type="string", json_path=".status.phase"),
        Column(name="minMember", type="integer", json_path=".spec.minMember"),
        Column(name="RUNNINGS", type="integer", json_path=".status.running"),
        _AGE,
        _SPEC_QUEUE,
    ),
)
QUEUES: Final = _VOLCANO_SCHEDULING(
    "Queue",
    lambda: scheduling.Queue,
    "q",
    "queue-v1beta1",
    namespaced=False,
    status=True,
    columns=(Column(name="PARENT", type="string", json_path=".spec.parent"),),
)

_VOLCANO_FLOW: Final = _Group("flow.volcano.sh", "v1alpha1", custom=True)
JOB_FLOWS: Final = _VOLCANO_FLOW(
    "JobFlow",
    lambda: flow.JobFlow,
    "jf",
    status=True,
    columns=(Column(name="Status", type="string", json_path=".status.state.phase"), _AGE_CAPITALIZED),
)
JOB_TEMPLATES: Final = _VOLCANO_FLOW("JobTemplate", lambda: flow.JobTemplate, "jt", status=True)
HYPERNODES: Final = _Group("topology.volcano.sh", "v1alpha1", custom=True)(
    "HyperNode",
    lambda: topology.HyperNode,
    "hn",
    namespaced=False,
    status=True,
    columns=(
        Column(name="Tier", type="string", json_path=".spec.tier"),
        Column(name="TierName", type="string", json_path=".spec.tierName"),
        Column(name="NodeCount", type="integer", json_path=".status.nodeCount"),
        _AGE_CAPITALIZED,
    ),
)
NUMATOPOLOGIES: Final = _Group("nodeinfo.volcano.sh", "v1alpha1", custom=True)(
    "Numatopology", lambda: nodeinfo.Numatopology, "numatopo", namespaced=False
)
NODE_SHARDS: Final = _Group("shard.volcano.sh", "v1alpha1", custom=True)(
    "NodeShard", lambda: shard.NodeShard, "nsh", namespaced=False, status=True, columns=(_AGE,)
)
COLOCATION_CONFIGURATIONS: Final = _Group("config.volcano.sh", "v1alpha1", custom=True)(
    "ColocationConfiguration", lambda: config.ColocationConfiguration, status=True
)

ALL_VOLCANO: Final[tuple[Resource[Any], ...]] = (
    JOBS,
    CRON_JOBS,
    COMMANDS,
    PODGROUPS,
    QUEUES,
    JOB_FLOWS,
    JOB_TEMPLATES,
    HYPERNODES,
    NUMATOPOLOGIES,
    NODE_SHARDS,
    COLOCATION_CONFIGURATIONS,
)

ALL_KUBERNETES: Final[tuple[Resource[Any], ...]] = (
    PODS,
    NODES,
    NAMESPACES,
    EVENTS,
    SERVICES,
    CONFIGMAPS,
    SECRETS,
    SERVICE_ACCOUNTS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    RESOURCE_QUOTAS,
    LIMIT_RANGES,
    ENDPOINTS,
    POD_TEMPLATES,
    REPLICATION_CONTROLLERS,
    BINDINGS,
    REPLICA_SETS,
    DEPLOYMENTS,
    STATEFUL_SETS,
    DAEMON_SETS,
    CONTROLLER_REVISIONS,
    BATCH_JOBS,
    BATCH_CRON_JOBS,
    POD_DISRUPTION_BUDGETS,
    PRIORITY_CLASSES,
    LEASES,
    STORAGE_CLASSES,
    CSI_NODES,
    CSI_DRIVERS,
    CSI_STORAGE_CAPACITIES,
    VOLUME_ATTACHMENTS,
    ENDPOINT_SLICES,
    NETWORK_POLICIES,
    INGRESSES,
    INGRESS_CLASSES,
    EVENTS_V1,
    HORIZONTAL_POD_AUTOSCALERS,
    RESOURCE_CLAIMS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_SLICES,
    DEVICE_CLASSES,
    ROLES,
    ROLE_BINDINGS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    CUSTOM_RESOURCE_DEFINITIONS,
    SELF_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_RULES_REVIEWS,
    SUBJECT_ACCESS_REVIEWS,
    LOCAL_SUBJECT_ACCESS_REVIEWS,
    TOKEN_REVIEWS,
    SELF_SUBJECT_REVIEWS,
)


SERVED_ON_REQUEST: Final[tuple[Resource[Any], ...]] = (DEVICE_TAINT_RULES,)
"""Kinds of Kubernetes that its API server has only if told so, and ours has not; clients look for them all the same."""


def by_kind(api_version: str, kind: str) -> Resource[Any] | None:
    """The resource a document of this version and kind belongs to."""
    for resource in (*ALL_VOLCANO, *ALL_KUBERNETES, *SERVED_ON_REQUEST):
        if resource.kind == kind and resource.api_version == api_version:
            return resource
    return None
