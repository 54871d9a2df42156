"""Nodes, namespaces and what belongs to the cluster's plumbing: leases, events, quotas, webhook configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.local.apiserver.wire.printers.columns import (
    NONE,
    UNKNOWN,
    Column,
    Printer,
    age_of,
    created_at,
    name_and_age,
    name_of,
    printer,
    since,
)

if TYPE_CHECKING:
    from datetime import datetime

    from volcano.api.meta import JsonObject

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _node(node: JsonObject, now: datetime) -> list[Any]:
    info = (node.get("status") or {}).get("nodeInfo") or {}
    return [
        name_of(node),
        _node_status(node),
        ",".join(_roles(node)) or NONE,
        age_of(node, now),
        info.get("kubeletVersion") or "",
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(node: JsonObject) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((c.get("status") for c in conditions if c.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(node: JsonObject) -> list[str]:
    labels = node.get("metadata", {}).get("labels") or {}
    named = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return sorted((named | {labels.get(_ROLE_LABEL, "")}) - {""})


def _address(node: JsonObject, kind: str) -> str:
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((str(a.get("address")) for a in addresses if a.get("type") == kind), NONE)


def _namespace(item: JsonObject, now: datetime) -> list[Any]:
    return [name_of(item), (item.get("status") or {}).get("phase") or "", age_of(item, now)]


def _event(event: JsonObject, now: datetime) -> list[Any]:
    series = event.get("series") or {}
    first = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp") or event.get("eventTime")
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("deprecatedLastTimestamp")
    regarding = event.get("involvedObject") or event.get("regarding") or {}
    return [
        since(last, now) if last else since(first, now),
        event.get("type", ""),
        event.get("reason", ""),
        _event_object(regarding),
        regarding.get("fieldPath", ""),
        _event_source(event),
        str(event.get("message") or event.get("note") or "").strip(),
        since(first, now),
        series.get("count") or event.get("count") or event.get("deprecatedCount") or 1,
        name_of(event),
    ]


def _event_object(regarding: JsonObject) -> str:
    kind, name = str(regarding.get("kind", "")).lower(), regarding.get("name")
    return f"{kind}/{name}" if name else kind


def _event_source(event: JsonObject) -> str:
    source = event.get("source") or event.get("deprecatedSource") or {}
    component = source.get("component") or event.get("reportingComponent") or event.get("reportingController") or ""
    host = source.get("host") or event.get("reportingInstance")
    return f"{component}, {host}" if host else str(component)


def _lease(lease: JsonObject, now: datetime) -> list[Any]:
    return [name_of(lease), (lease.get("spec") or {}).get("holderIdentity") or "", age_of(lease, now)]


def _priority_class(item: JsonObject, now: datetime) -> list[Any]:
    return [
        name_of(item),
        item.get("value", 0),
        bool(item.get("globalDefault", False)),
        age_of(item, now),
        item.get("preemptionPolicy") or "PreemptLowerPriority",
    ]


def _resource_quota(quota: JsonObject, now: datetime) -> list[Any]:
    status = quota.get("status") or {}
    hard = status.get("hard") or (quota.get("spec") or {}).get("hard") or {}
    used = status.get("used") or {}
    pairs = {name: f"{name}: {used.get(name, '0')}/{amount}" for name, amount in sorted(hard.items())}
    limits = [text for name, text in pairs.items() if name.startswith("limits")]
    requests = [text for name, text in pairs.items() if not name.startswith("limits")]
    return [name_of(quota), ", ".join(requests), ", ".join(limits), age_of(quota, now)]


def _pod_disruption_budget(item: JsonObject, now: datetime) -> list[Any]:
    spec = item.get("spec") or {}
    lowest, highest = spec.get("minAvailable"), spec.get("maxUnavailable")
    return [
        name_of(item),
        "N/A" if lowest is None else str(lowest),
        "N/A" if highest is None else str(highest),
        (item.get("status") or {}).get("disruptionsAllowed", 0),
        age_of(item, now),
    ]


def _webhooks(item: JsonObject, now: datetime) -> list[Any]:
    return [name_of(item), len(item.get("webhooks") or ()), age_of(item, now)]


def _role_binding(item: JsonObject, now: datetime) -> list[Any]:
    role = item.get("roleRef") or {}
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in item.get("subjects") or ():
        name = str(subject.get("name", ""))
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        subjects.setdefault(str(subject.get("kind")), []).append(name)
    lists = [", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [name_of(item), f"{role.get('kind', '')}/{role.get('name', '')}", age_of(item, now), *lists]


def _csi_node(item: JsonObject, now: datetime) -> list[Any]:
    return [name_of(item), len((item.get("spec") or {}).get("drivers") or ()), age_of(item, now)]


def _runtime_class(item: JsonObject, now: datetime) -> list[Any]:
    return [name_of(item), item.get("handler", ""), age_of(item, now)]


EVENTS = Printer(
    (
        *(Column(name) for name in ("Last Seen", "Type", "Reason", "Object")),
        *(Column(name, priority=1) for name in ("Subobject", "Source")),
        Column("Message"),
        Column("First Seen", priority=1),
        Column("Count", priority=1),
        Column("Name", priority=1, format="name"),
    ),
    _event,
)
NODES = printer(_node, "Status,Roles,Age,Version", "Internal-IP,External-IP,OS-Image,Kernel-Version,Container-Runtime")
NAMESPACES = printer(_namespace, "Status,Age")
LEASES = printer(_lease, "Holder,Age")
PRIORITY_CLASSES = printer(_priority_class, "Value,Global-Default,Age,PreemptionPolicy", integers=["Value"])
RESOURCE_QUOTAS = printer(_resource_quota, "Request,Limit,Age")
POD_DISRUPTION_BUDGETS = printer(
    _pod_disruption_budget, "Min Available,Max Unavailable,Allowed Disruptions,Age", integers=["Allowed Disruptions"]
)
WEBHOOK_CONFIGURATIONS = printer(_webhooks, "Webhooks,Age", integers=["Webhooks"])
ROLE_BINDINGS = printer(_role_binding, "Role,Age", "Users,Groups,ServiceAccounts")
CSI_NODES = printer(_csi_node, "Drivers,Age", integers=["Drivers"])
RUNTIME_CLASSES = printer(_runtime_class, "Handler,Age")
CREATED_AT = printer(created_at, "Created At")
NAME_AND_AGE = printer(name_and_age, "Age")
