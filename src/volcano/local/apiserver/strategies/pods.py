"""Pods as the server writes them: defaults, quality of service, what may change, graceful deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.local.apiserver.status import cause
from volcano.local.apiserver.strategies.pod_defaults import DEFAULT_GRACE_SECONDS, default_pod
from volcano.local.apiserver.strategies.pod_rules import spec_causes
from volcano.local.apiserver.strategies.strategy import Strategy

if TYPE_CHECKING:
    from volcano.local.apiserver.faults import Cause

_FINISHED = ("Succeeded", "Failed")
_MUTABLE_SPEC = ("activeDeadlineSeconds", "tolerations", "schedulingGates", "terminationGracePeriodSeconds")
_MAY_NOT_CHANGE = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


class PodStrategy(Strategy):
    """The kind that everything else is about."""

    graceful = True

    def default(self, document: JsonObject) -> None:
        default_pod(document.setdefault("spec", {}))

    def prepare_create(self, document: JsonObject) -> None:
        super().prepare_create(document)
        document["status"] = {"phase": "Pending", "qosClass": qos_class(document["spec"])}
        if document["spec"].get("schedulingGates"):
            document["status"]["conditions"] = [_gated(document["metadata"]["creationTimestamp"])]

    def prepare_status_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_status_update(new, old)
        status = new.get("status") or {}
        for one, all_of_them in (("podIP", "podIPs"), ("hostIP", "hostIPs")):
            if status.get(one) and not status.get(all_of_them):
                status[all_of_them] = [{"ip": status[one]}]

    def validate(self, document: JsonObject) -> list[Cause]:
        return super().validate(document) + spec_causes(document.get("spec") or {}, "spec")

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return super().validate_update(new, old) + update_causes(new.get("spec") or {}, old.get("spec") or {})

    def grace_seconds(self, document: JsonObject, asked: int | None) -> int:
        spec, phase = document.get("spec") or {}, (document.get("status") or {}).get("phase")
        if not spec.get("nodeName") or phase in _FINISHED:
            return 0
        if asked is not None:
            return max(asked, 0)
        own = spec.get("terminationGracePeriodSeconds")
        return DEFAULT_GRACE_SECONDS if own is None else max(int(own), 0)


def _gated(since: str) -> JsonObject:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": since,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def qos_class(spec: JsonObject) -> str:
    """Guaranteed, Burstable or BestEffort, from CPU and memory of all containers."""
    anything, guaranteed = False, True
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            request, limit = requests.get(name), limits.get(name)
            anything = anything or _positive(request) or _positive(limit)
            guaranteed = guaranteed and _positive(limit) and (request is None or str(request) == str(limit))
    if not anything:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _positive(quantity: object) -> bool:
    return quantity is not None and str(quantity).strip("0.") != ""


def update_causes(new: JsonObject, old: JsonObject) -> list[Cause]:
    """A pod's spec is fixed but for images, deadlines, more tolerations and fewer scheduling gates."""
    if new == old:
        return []
    for section in ("containers", "initContainers"):
        if _names(new, section) != _names(old, section):
            return [_forbidden(f"spec.{section}", "pod updates may not add or remove containers")]
    causes = _deadline_causes(new, old) + _toleration_causes(new, old) + _gate_causes(new, old)
    no_deadline = old.get("activeDeadlineSeconds") is not None and new.get("activeDeadlineSeconds") is None
    if no_deadline or _frozen(new) != _frozen(old):
        causes.append(cause("spec", _MAY_NOT_CHANGE, "FieldValueForbidden"))
    return causes


def _deadline_causes(new: JsonObject, old: JsonObject) -> list[Cause]:
    field, now, before = (
        "spec.activeDeadlineSeconds",
        new.get("activeDeadlineSeconds"),
        old.get("activeDeadlineSeconds"),
    )
    if before is None or now == before:
        return []
    if now is None:
        return [cause(field, "Invalid value: null: must not update from a positive integer to nil value")]
    if now > before:
        return [cause(field, f"Invalid value: {now}: must be less than or equal to previous value")]
    return []


def _toleration_causes(new: JsonObject, old: JsonObject) -> list[Cause]:
    kept = [_without_time(item) for item in new.get("tolerations") or ()]
    if all(_without_time(item) in kept for item in old.get("tolerations") or ()):
        return []
    return [_forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")]


def _gate_causes(new: JsonObject, old: JsonObject) -> list[Cause]:
    known = [gate.get("name") for gate in old.get("schedulingGates") or ()]
    return [
        _forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
        )
        for index, gate in enumerate(new.get("schedulingGates") or ())
        if gate.get("name") not in known
    ]


def _without_time(toleration: JsonObject) -> JsonObject:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _names(spec: JsonObject, section: str) -> list[str]:
    return [container.get("name", "") for container in spec.get(section) or ()]


def _forbidden(field: str, why: str) -> Cause:
    return cause(field, f"Forbidden: {why}", "FieldValueForbidden")


def _frozen(spec: JsonObject) -> JsonObject:
    frozen = {key: value for key, value in spec.items() if key not in _MUTABLE_SPEC}
    for section in ("containers", "initContainers"):
        if section in frozen:
            frozen[section] = [{k: v for k, v in item.items() if k != "image"} for item in frozen[section] or ()]
    return frozen
