"""Which printer serves which resource. tables.py asks; each module beside this one holds the printers of one area."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.local.apiserver.wire.printers import cluster, pods, scaling, services, storage, workloads
from volcano.local.apiserver.wire.printers.columns import Column, Printer
from volcano.local.apiserver.wire.printers.custom import custom_printer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.api.meta import JsonObject

__all__ = ["Column", "Printer", "printer_for"]

_BUILT_IN: dict[tuple[str, str], Printer] = {
    ("", "configmaps"): services.CONFIG_MAPS,
    ("", "endpoints"): services.ENDPOINTS,
    ("", "events"): cluster.EVENTS,
    ("", "limitranges"): cluster.CREATED_AT,
    ("", "namespaces"): cluster.NAMESPACES,
    ("", "nodes"): cluster.NODES,
    ("", "persistentvolumeclaims"): storage.PERSISTENT_VOLUME_CLAIMS,
    ("", "persistentvolumes"): storage.PERSISTENT_VOLUMES,
    ("", "pods"): pods.PODS,
    ("", "replicationcontrollers"): workloads.REPLICA_SETS,
    ("", "resourcequotas"): cluster.RESOURCE_QUOTAS,
    ("", "secrets"): services.SECRETS,
    ("", "serviceaccounts"): services.SERVICE_ACCOUNTS,
    ("", "services"): services.SERVICES,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): cluster.WEBHOOK_CONFIGURATIONS,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): cluster.WEBHOOK_CONFIGURATIONS,
    ("apiextensions.k8s.io", "customresourcedefinitions"): cluster.CREATED_AT,
    ("apps", "controllerrevisions"): workloads.CONTROLLER_REVISIONS,
    ("apps", "daemonsets"): workloads.DAEMON_SETS,
    ("apps", "deployments"): workloads.DEPLOYMENTS,
    ("apps", "replicasets"): workloads.REPLICA_SETS,
    ("apps", "statefulsets"): workloads.STATEFUL_SETS,
    ("autoscaling", "horizontalpodautoscalers"): scaling.AUTOSCALERS,
    ("batch", "cronjobs"): workloads.CRON_JOBS,
    ("batch", "jobs"): workloads.JOBS,
    ("coordination.k8s.io", "leases"): cluster.LEASES,
    ("discovery.k8s.io", "endpointslices"): services.ENDPOINT_SLICES,
    ("events.k8s.io", "events"): cluster.EVENTS,
    ("networking.k8s.io", "ingresses"): services.INGRESSES,
    ("networking.k8s.io", "networkpolicies"): services.NETWORK_POLICIES,
    ("node.k8s.io", "runtimeclasses"): cluster.RUNTIME_CLASSES,
    ("policy", "poddisruptionbudgets"): cluster.POD_DISRUPTION_BUDGETS,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): cluster.ROLE_BINDINGS,
    ("rbac.authorization.k8s.io", "clusterroles"): cluster.CREATED_AT,
    ("rbac.authorization.k8s.io", "rolebindings"): cluster.ROLE_BINDINGS,
    ("rbac.authorization.k8s.io", "roles"): cluster.CREATED_AT,
    ("scheduling.k8s.io", "priorityclasses"): cluster.PRIORITY_CLASSES,
    ("storage.k8s.io", "csinodes"): cluster.CSI_NODES,
    ("storage.k8s.io", "storageclasses"): storage.STORAGE_CLASSES,
}


def printer_for(group: str, plural: str, additional_columns: Sequence[JsonObject] | None = None) -> Printer:
    """The printer of a resource; `additional_columns` are a CRD version's additionalPrinterColumns."""
    if additional_columns is not None:
        return custom_printer(additional_columns)
    return _BUILT_IN.get((group, plural), cluster.NAME_AND_AGE)
