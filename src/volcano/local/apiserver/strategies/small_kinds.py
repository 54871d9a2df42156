"""Kinds with a rule or two of their own: leases, events, quotas, priority classes, nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from volcano.api import quantity
from volcano.api.meta import JsonObject
from volcano.local.apiserver.status import cause
from volcano.local.apiserver.strategies.strategy import Strategy

if TYPE_CHECKING:
    from volcano.local.apiserver.catalog.registry import ResourceInfo
    from volcano.local.apiserver.faults import Cause

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_QUOTA_NAMES = frozenset(
    {
        *("cpu", "memory", "ephemeral-storage", "pods", "resourcequotas", "services", "replicationcontrollers"),
        *("secrets", "persistentvolumeclaims", "configmaps", "services.nodeports", "services.loadbalancers"),
        *(f"{section}.{name}" for section in ("requests", "limits") for name in ("cpu", "memory", "ephemeral-storage")),
        "requests.storage",
    }
)
_QUOTA_PREFIXES = ("hugepages-", "requests.hugepages-")
_QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SCOPES = frozenset(
    {
        *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort"),
        *("PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass"),
    }
)


class LeaseStrategy(Strategy):
    """Locks that run out."""

    def validate(self, document: JsonObject) -> list[Cause]:
        causes, spec = super().validate(document), document.get("spec") or {}
        duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if duration is not None and duration <= 0:
            causes.append(cause("spec.leaseDurationSeconds", f"Invalid value: {duration}: must be greater than 0"))
        if transitions is not None and transitions < 0:
            text = f"Invalid value: {transitions}: must be greater than or equal to 0"
            causes.append(cause("spec.leaseTransitions", text))
        return causes

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return super().validate_update(new, old) or self.validate(new)


class EventStrategy(Strategy):
    """An event is kept beside what it is about; of what has no namespace, in `default`."""

    def validate(self, document: JsonObject) -> list[Cause]:
        causes = super().validate(document)
        about = (document.get("involvedObject") or {}).get("namespace") or ""
        if (about or "default") != document["metadata"].get("namespace"):
            text = f'Invalid value: "{about}": does not match event.namespace'
            causes.append(cause("involvedObject.namespace", text))
        return causes


class QuotaStrategy(Strategy):
    """ResourceQuotas: names that can be counted, amounts that make sense."""

    def prepare_create(self, document: JsonObject) -> None:
        super().prepare_create(document)
        document["status"] = {}

    def validate(self, document: JsonObject) -> list[Cause]:
        spec = document.get("spec") or {}
        causes = super().validate(document)
        for name, amount in (spec.get("hard") or {}).items():
            causes += _quota_causes(name, amount)
        scopes = spec.get("scopes") or []
        if any(scope not in _SCOPES for scope in scopes):
            shown = msgspec.json.encode(scopes).decode()
            causes.append(cause("spec.scopes", f"Invalid value: {shown}: unsupported scope"))
        return causes

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return super().validate_update(new, old) or self.validate(new)


def _quota_causes(name: str, amount: Any) -> list[Cause]:
    field, causes = f"spec.hard[{name}]", []
    if "/" not in name and name not in _QUOTA_NAMES and not name.startswith(_QUOTA_PREFIXES):
        causes = [
            cause(field, f'Invalid value: "{name}": must be a standard resource {what}')
            for what in ("type or fully qualified", "for quota")
        ]
    elif "/" in name and not _QUALIFIED.fullmatch(name):
        causes = [cause(field, f'Invalid value: "{name}": must be a qualified name')]
    if quantity.parse(amount).nano < 0:
        causes.append(cause(field, f'Invalid value: "{amount}": must be greater than or equal to 0'))
    return causes


class PriorityClassStrategy(Strategy):
    """A priority is given once; the highest are the system's."""

    def default(self, document: JsonObject) -> None:
        document.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def validate(self, document: JsonObject) -> list[Cause]:
        causes, name = super().validate(document), document["metadata"].get("name", "")
        if name.startswith("system-"):
            if SYSTEM_CLASSES.get(name) != document.get("value"):
                text = (
                    "Forbidden: priority class names with 'system-' prefix are reserved for system use only. "
                    f"error: {name} is not a known system priority class"
                )
                causes.append(cause("metadata.name", text, "FieldValueForbidden"))
        elif document.get("value", 0) > HIGHEST_USER_PRIORITY:
            text = f"Forbidden: maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
            causes.append(cause("value", text, "FieldValueForbidden"))
        return causes

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        causes = super().validate_update(new, old)
        if new.get("value", 0) != old.get("value", 0):
            causes.append(cause("value", "Forbidden: may not be changed in an update.", "FieldValueForbidden"))
        policy = new.get("preemptionPolicy")
        if policy != old.get("preemptionPolicy"):
            causes.append(cause("preemptionPolicy", f'Invalid value: "{policy}": field is immutable'))
        return causes


class NodeStrategy(Strategy):
    """Nodes say themselves what they are: their status is taken when they register."""

    def default(self, document: JsonObject) -> None:
        status = document.get("status") or {}
        if status.get("capacity") and not status.get("allocatable"):
            status["allocatable"] = dict(status["capacity"])

    def prepare_create(self, document: JsonObject) -> None:
        given = document.get("status")
        super().prepare_create(document)
        if given:
            document["status"] = given

    def prepare_status_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_status_update(new, old)
        self.default(new)


_STRATEGIES: dict[str, type[Strategy]] = {
    "events": EventStrategy,
    "leases.coordination.k8s.io": LeaseStrategy,
    "nodes": NodeStrategy,
    "priorityclasses.scheduling.k8s.io": PriorityClassStrategy,
    "resourcequotas": QuotaStrategy,
}


def small_strategy(resource: ResourceInfo) -> Strategy | None:
    """The strategy of `resource` if it is one of those here."""
    found = _STRATEGIES.get(resource.qualified)
    return None if found is None else found(resource)
