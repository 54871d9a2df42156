"""Where each kind lives in the API: one constant per resource, used by clients, informers and the local API server.

The types are imported when somebody decodes into them: commands that print documents start without.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
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


def _core(kind: str, load: Load[T], plural: str, *short: str, namespaced: bool = True, **more: Any) -> Resource[T]:
    return _built_in("", "v1", kind, load, plural, *short, namespaced=namespaced, **more)


def _built_in(
    group: str,
    version: str,
    kind: str,
    load: Load[T],
    plural: str,
    *short: str,
    namespaced: bool = True,
    **more: Any,
) -> Resource[T]:
    return Resource(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        namespaced=namespaced,
        load=load,
        singular=kind.lower(),
        short_names=short,
        **more,
    )


def _volcano(
    group: str,
    version: str,
    kind: str,
    load: Load[T],
    plural: str,
    *short: str,
    namespaced: bool = True,
    **more: Any,
) -> Resource[T]:
    return _built_in(
        f"{group}.volcano.sh", version, kind, load, plural, *short, namespaced=namespaced, custom=True, **more
    )


def _post(name: str, kind: str, group: str, version: str) -> Subresource:
    return Subresource(name=name, verbs=CREATE_ONLY, kind=kind, group=group, version=version)


_AGE: Final = Column(name="AGE", type="date", json_path=".metadata.creationTimestamp")
_AGE_CAPITALIZED: Final = Column(name="Age", type="date", json_path=".metadata.creationTimestamp")
_SPEC_QUEUE: Final = Column(name="QUEUE", type="string", json_path=".spec.queue", priority=1)
_ALL: Final = ("all",)

# core/v1
PODS: Final = _core(
    "Pod",
    lambda: core.Pod,
    "pods",
    "po",
    categories=_ALL,
    subresources=(
        STATUS,
        _post("binding", "Binding", "", "v1"),
        _post("eviction", "Eviction", "policy", "v1"),
        Subresource(name="log", verbs=("get",)),
        Subresource(name="attach", verbs=("create", "get"), kind="PodAttachOptions", group="", version="v1"),
        Subresource(name="exec", verbs=("create", "get"), kind="PodExecOptions", group="", version="v1"),
        Subresource(name="portforward", verbs=("create", "get"), kind="PodPortForwardOptions", group="", version="v1"),
    ),
)
NODES: Final = _core(
    "Node",
    lambda: core.Node,
    "nodes",
    "no",
    namespaced=False,
    subresources=(STATUS, Subresource(name="proxy", verbs=("get",))),
)
NAMESPACES: Final = _core(
    "Namespace",
    lambda: core.Namespace,
    "namespaces",
    "ns",
    namespaced=False,
    verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
    subresources=(STATUS, Subresource(name="finalize", verbs=("update",))),
)
EVENTS: Final = _core("Event", lambda: core.Event, "events", "ev")
SERVICES: Final = _core("Service", lambda: core.Service, "services", "svc", categories=_ALL, subresources=(STATUS,))
CONFIGMAPS: Final = _core("ConfigMap", lambda: core.ConfigMap, "configmaps", "cm")
SECRETS: Final = _core("Secret", lambda: core.Secret, "secrets")
SERVICE_ACCOUNTS: Final = _core(
    "ServiceAccount",
    lambda: core.ServiceAccount,
    "serviceaccounts",
    "sa",
    subresources=(_post("token", "TokenRequest", "authentication.k8s.io", "v1"),),
)
PERSISTENT_VOLUME_CLAIMS: Final = _core(
    "PersistentVolumeClaim", lambda: core.PersistentVolumeClaim, "persistentvolumeclaims", "pvc", subresources=(STATUS,)
)
PERSISTENT_VOLUMES: Final = _core(
    "PersistentVolume",
    lambda: core.PersistentVolume,
    "persistentvolumes",
    "pv",
    namespaced=False,
    subresources=(STATUS,),
)
RESOURCE_QUOTAS: Final = _core(
    "ResourceQuota", lambda: core.ResourceQuota, "resourcequotas", "quota", subresources=(STATUS,)
)
LIMIT_RANGES: Final = _core("LimitRange", lambda: core.LimitRange, "limitranges", "limits")
ENDPOINTS: Final[Resource[JsonObject]] = _core("Endpoints", DOCUMENTS, "endpoints", "ep")
POD_TEMPLATES: Final[Resource[JsonObject]] = _core("PodTemplate", DOCUMENTS, "podtemplates")
REPLICATION_CONTROLLERS: Final = _core(
    "ReplicationController",
    lambda: core.ReplicationController,
    "replicationcontrollers",
    "rc",
    categories=_ALL,
    subresources=(STATUS, SCALE),
)
BINDINGS: Final = _core("Binding", lambda: core.Binding, "bindings", verbs=CREATE_ONLY)

# apps/v1 and batch/v1
REPLICA_SETS: Final = _built_in(
    "apps",
    "v1",
    "ReplicaSet",
    lambda: core.ReplicaSet,
    "replicasets",
    "rs",
    categories=_ALL,
    subresources=(STATUS, SCALE),
)
DEPLOYMENTS: Final = _built_in(
    "apps",
    "v1",
    "Deployment",
    lambda: core.Deployment,
    "deployments",
    "deploy",
    categories=_ALL,
    subresources=(STATUS, SCALE),
)
STATEFUL_SETS: Final = _built_in(
    "apps",
    "v1",
    "StatefulSet",
    lambda: core.StatefulSet,
    "statefulsets",
    "sts",
    categories=_ALL,
    subresources=(STATUS, SCALE),
)
DAEMON_SETS: Final = _built_in(
    "apps", "v1", "DaemonSet", lambda: core.DaemonSet, "daemonsets", "ds", categories=_ALL, subresources=(STATUS,)
)
CONTROLLER_REVISIONS: Final[Resource[JsonObject]] = _built_in(
    "apps", "v1", "ControllerRevision", DOCUMENTS, "controllerrevisions"
)
BATCH_JOBS: Final = _built_in(
    "batch", "v1", "Job", lambda: core.BatchJob, "jobs", categories=_ALL, subresources=(STATUS,)
)
BATCH_CRON_JOBS: Final[Resource[JsonObject]] = _built_in(
    "batch", "v1", "CronJob", DOCUMENTS, "cronjobs", "cj", categories=_ALL, subresources=(STATUS,)
)

# Policy, scheduling, coordination, storage, discovery, networking
POD_DISRUPTION_BUDGETS: Final = _built_in(
    "policy",
    "v1",
    "PodDisruptionBudget",
    lambda: core.PodDisruptionBudget,
    "poddisruptionbudgets",
    "pdb",
    subresources=(STATUS,),
)
PRIORITY_CLASSES: Final = _built_in(
    "scheduling.k8s.io", "v1", "PriorityClass", lambda: core.PriorityClass, "priorityclasses", "pc", namespaced=False
)
LEASES: Final = _built_in("coordination.k8s.io", "v1", "Lease", lambda: core.Lease, "leases")
STORAGE_CLASSES: Final = _built_in(
    "storage.k8s.io", "v1", "StorageClass", lambda: core.StorageClass, "storageclasses", "sc", namespaced=False
)
CSI_NODES: Final = _built_in("storage.k8s.io", "v1", "CSINode", lambda: core.CsiNode, "csinodes", namespaced=False)
CSI_DRIVERS: Final = _built_in(
    "storage.k8s.io", "v1", "CSIDriver", lambda: core.CsiDriver, "csidrivers", namespaced=False
)
CSI_STORAGE_CAPACITIES: Final = _built_in(
    "storage.k8s.io", "v1", "CSIStorageCapacity", lambda: core.CsiStorageCapacity, "csistoragecapacities"
)
VOLUME_ATTACHMENTS: Final = _built_in(
    "storage.k8s.io",
    "v1",
    "VolumeAttachment",
    lambda: core.VolumeAttachment,
    "volumeattachments",
    namespaced=False,
    subresources=(STATUS,),
)
ENDPOINT_SLICES: Final[Resource[JsonObject]] = _built_in(
    "discovery.k8s.io", "v1", "EndpointSlice", DOCUMENTS, "endpointslices"
)
NETWORK_POLICIES: Final = _built_in(
    "networking.k8s.io", "v1", "NetworkPolicy", lambda: core.NetworkPolicy, "networkpolicies", "netpol"
)
INGRESSES: Final[Resource[JsonObject]] = _built_in(
    "networking.k8s.io", "v1", "Ingress", DOCUMENTS, "ingresses", "ing", subresources=(STATUS,)
)
INGRESS_CLASSES: Final[Resource[JsonObject]] = _built_in(
    "networking.k8s.io", "v1", "IngressClass", DOCUMENTS, "ingressclasses", namespaced=False
)
EVENTS_V1: Final[Resource[JsonObject]] = _built_in("events.k8s.io", "v1", "Event", DOCUMENTS, "events", "ev")
HORIZONTAL_POD_AUTOSCALERS: Final[Resource[JsonObject]] = _built_in(
    "autoscaling",
    "v2",
    "HorizontalPodAutoscaler",
    DOCUMENTS,
    "horizontalpodautoscalers",
    "hpa",
    categories=_ALL,
    subresources=(STATUS,),
)
RESOURCE_CLAIMS: Final = _built_in(
    "resource.k8s.io", "v1", "ResourceClaim", lambda: core.ResourceClaim, "resourceclaims", subresources=(STATUS,)
)
RESOURCE_CLAIM_TEMPLATES: Final[Resource[JsonObject]] = _built_in(
    "resource.k8s.io", "v1", "ResourceClaimTemplate", DOCUMENTS, "resourceclaimtemplates"
)
RESOURCE_SLICES: Final = _built_in(
    "resource.k8s.io", "v1", "ResourceSlice", lambda: core.ResourceSlice, "resourceslices", namespaced=False
)
DEVICE_CLASSES: Final = _built_in(
    "resource.k8s.io", "v1", "DeviceClass", lambda: core.DeviceClass, "deviceclasses", namespaced=False
)

# Access, admission, extension
ROLES: Final = _built_in("rbac.authorization.k8s.io", "v1", "Role", lambda: core.Role, "roles")
ROLE_BINDINGS: Final = _built_in(
    "rbac.authorization.k8s.io", "v1", "RoleBinding", lambda: core.RoleBinding, "rolebindings"
)
CLUSTER_ROLES: Final = _built_in(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", lambda: core.ClusterRole, "clusterroles", namespaced=False
)
CLUSTER_ROLE_BINDINGS: Final = _built_in(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRoleBinding",
    lambda: core.ClusterRoleBinding,
    "clusterrolebindings",
    namespaced=False,
)
MUTATING_WEBHOOKS: Final = _built_in(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    lambda: admission.MutatingWebhookConfiguration,
    "mutatingwebhookconfigurations",
    namespaced=False,
)
VALIDATING_WEBHOOKS: Final = _built_in(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    lambda: admission.ValidatingWebhookConfiguration,
    "validatingwebhookconfigurations",
    namespaced=False,
)
CUSTOM_RESOURCE_DEFINITIONS: Final[Resource[JsonObject]] = _built_in(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    DOCUMENTS,
    "customresourcedefinitions",
    "crd",
    "crds",
    namespaced=False,
    subresources=(STATUS,),
)

# Reviews: answered, never stored
SELF_SUBJECT_ACCESS_REVIEWS: Final[Resource[JsonObject]] = _built_in(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    DOCUMENTS,
    "selfsubjectaccessreviews",
    namespaced=False,
    verbs=CREATE_ONLY,
)
SELF_SUBJECT_RULES_REVIEWS: Final[Resource[JsonObject]] = _built_in(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectRulesReview",
    DOCUMENTS,
    "selfsubjectrulesreviews",
    namespaced=False,
    verbs=CREATE_ONLY,
)
SUBJECT_ACCESS_REVIEWS: Final[Resource[JsonObject]] = _built_in(
    "authorization.k8s.io",
    "v1",
    "SubjectAccessReview",
    DOCUMENTS,
    "subjectaccessreviews",
    namespaced=False,
    verbs=CREATE_ONLY,
)
LOCAL_SUBJECT_ACCESS_REVIEWS: Final[Resource[JsonObject]] = _built_in(
    "authorization.k8s.io", "v1", "LocalSubjectAccessReview", DOCUMENTS, "localsubjectaccessreviews", verbs=CREATE_ONLY
)
TOKEN_REVIEWS: Final[Resource[JsonObject]] = _built_in(
    "authentication.k8s.io", "v1", "TokenReview", DOCUMENTS, "tokenreviews", namespaced=False, verbs=CREATE_ONLY
)
SELF_SUBJECT_REVIEWS: Final[Resource[JsonObject]] = _built_in(
    "authentication.k8s.io",
    "v1",
    "SelfSubjectReview",
    DOCUMENTS,
    "selfsubjectreviews",
    namespaced=False,
    verbs=CREATE_ONLY,
)

# What the API server asks the nodes about: read only, never stored
NODE_METRICS: Final[Resource[JsonObject]] = _built_in(
    "metrics.k8s.io", "v1beta1", "NodeMetrics", DOCUMENTS, "nodes", namespaced=False, verbs=("get", "list")
)
POD_METRICS: Final[Resource[JsonObject]] = _built_in(
    "metrics.k8s.io", "v1beta1", "PodMetrics", DOCUMENTS, "pods", verbs=("get", "list")
)

# Volcano
JOBS: Final = _volcano(
    "batch",
    "v1alpha1",
    "Job",
    lambda: batch.Job,
    "jobs",
    "vcjob",
    "vj",
    subresources=(STATUS,),
    columns=(
        Column(name="STATUS", type="string", json_path=".status.state.phase"),
        Column(name="minAvailable", type="integer", json_path=".status.minAvailable"),
        Column(name="RUNNINGS", type="integer", json_path=".status.running"),
        _AGE,
        _SPEC_QUEUE,
    ),
)
CRON_JOBS: Final = _volcano(
    "batch", "v1alpha1", "CronJob", lambda: batch.CronJob, "cronjobs", "cronvcjob", "cronvj", subresources=(STATUS,)
)
COMMANDS: Final = _volcano("bus", "v1alpha1", "Command", lambda: bus.Command, "commands")
PODGROUPS: Final = _volcano(
    "scheduling",
    "v1beta1",
    "PodGroup",
    lambda: scheduling.PodGroup,
    "podgroups",
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
QUEUES: Final = _volcano(
    "scheduling",
    "v1beta1",
    "Queue",
    lambda: scheduling.Queue,
    "queues",
    "q",
    "queue-v1beta1",
    namespaced=False,
    subresources=(STATUS,),
    columns=(Column(name="PARENT", type="string", json_path=".spec.parent"),),
)
JOB_FLOWS: Final = _volcano(
    "flow",
    "v1alpha1",
    "JobFlow",
    lambda: flow.JobFlow,
    "jobflows",
    "jf",
    subresources=(STATUS,),
    columns=(Column(name="Status", type="string", json_path=".status.state.phase"), _AGE_CAPITALIZED),
)
JOB_TEMPLATES: Final = _volcano(
    "flow", "v1alpha1", "JobTemplate", lambda: flow.JobTemplate, "jobtemplates", "jt", subresources=(STATUS,)
)
HYPERNODES: Final = _volcano(
    "topology",
    "v1alpha1",
    "HyperNode",
    lambda: topology.HyperNode,
    "hypernodes",
    "hn",
    namespaced=False,
    subresources=(STATUS,),
    columns=(
        Column(name="Tier", type="string", json_path=".spec.tier"),
        Column(name="TierName", type="string", json_path=".spec.tierName"),
        Column(name="NodeCount", type="integer", json_path=".status.nodeCount"),
        _AGE_CAPITALIZED,
    ),
)
NUMATOPOLOGIES: Final = _volcano(
    "nodeinfo",
    "v1alpha1",
    "Numatopology",
    lambda: nodeinfo.Numatopology,
    "numatopologies",
    "numatopo",
    namespaced=False,
)
NODE_SHARDS: Final = _volcano(
    "shard",
    "v1alpha1",
    "NodeShard",
    lambda: shard.NodeShard,
    "nodeshards",
    "nsh",
    namespaced=False,
    subresources=(STATUS,),
    columns=(_AGE,),
)
COLOCATION_CONFIGURATIONS: Final = _volcano(
    "config",
    "v1alpha1",
    "ColocationConfiguration",
    lambda: config.ColocationConfiguration,
    "colocationconfigurations",
    subresources=(STATUS,),
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


def by_kind(api_version: str, kind: str) -> Resource[Any] | None:
    """The resource a document of this version and kind belongs to."""
    for resource in (*ALL_VOLCANO, *ALL_KUBERNETES):
        if resource.kind == kind and resource.api_version == api_version:
            return resource
    return None
