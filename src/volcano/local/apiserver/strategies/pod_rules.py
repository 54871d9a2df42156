"""What makes a pod's spec impossible, in Kubernetes' words. Also of the pod templates in workloads.

Neighbours: pods.py says what may change later, pod_defaults.py fills in first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.api import quantity
from volcano.api.meta import JsonObject
from volcano.api.resource_names import is_extended
from volcano.local.apiserver.status import cause, required, unsupported
from volcano.local.apiserver.strategies.metadata import LABEL, LABEL_RULE, key_causes, label_causes

if TYPE_CHECKING:
    from volcano.local.apiserver.faults import Cause

RESTARTS = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PORT_RULE = "must be between 1 and 65535, inclusive"
_REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
_LARGEST_SECONDS = 2**31 - 1


def spec_causes(spec: JsonObject, field: str) -> list[Cause]:
    """Everything wrong with a completed spec."""
    causes: list[Cause] = []
    volumes = _names(spec.get("volumes") or (), f"{field}.volumes", causes)
    if not spec.get("containers"):
        causes.append(required(f"{field}.containers"))
    names: set[str] = set()
    for section in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(section) or ()):
            causes += _container_causes(container, f"{field}.{section}[{index}]", names, volumes)
    if spec.get("restartPolicy") not in RESTARTS:
        causes.append(unsupported(f"{field}.restartPolicy", spec.get("restartPolicy"), RESTARTS))
    if spec.get("dnsPolicy") not in _DNS_POLICIES:
        causes.append(unsupported(f"{field}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 0 < deadline <= _LARGEST_SECONDS:
        text = f"Invalid value: {deadline}: must be between 1 and {_LARGEST_SECONDS}, inclusive"
        causes.append(cause(f"{field}.activeDeadlineSeconds", text))
    if selector := spec.get("nodeSelector"):
        causes += label_causes(selector, f"{field}.nodeSelector")
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        causes += _toleration_causes(toleration, f"{field}.tolerations[{index}]")
    return causes + _affinity_causes(spec.get("affinity") or {}, f"{field}.affinity")


def _affinity_causes(affinity: JsonObject, field: str) -> list[Cause]:
    """Every topology that pods are drawn to or kept out of has a key."""
    causes = []
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = (affinity.get(kind) or {}).get(_REQUIRED_TERMS) or ()
        for index, term in enumerate(terms):
            if not term.get("topologyKey"):
                place = f"{field}.{kind}.{_REQUIRED_TERMS}[{index}].topologyKey"
                causes += [required(place, "can not be empty"), *key_causes("", place)]
    return causes


def _names(items: Any, field: str, causes: list[Cause]) -> set[str]:
    """The names of a list's items; what is wrong with them is added to `causes`."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        _add_name(item.get("name"), f"{field}[{index}].name", seen, causes)
    return seen


def _add_name(name: str | None, field: str, seen: set[str], causes: list[Cause]) -> None:
    if not name:
        causes.append(required(field))
    elif len(name) > 63 or not LABEL.fullmatch(name):
        rule = "must be no more than 63 bytes" if len(name) > 63 else LABEL_RULE
        causes.append(cause(field, f'Invalid value: "{name}": {rule}'))
    elif name in seen:
        causes.append(cause(field, f'Duplicate value: "{name}"', "FieldValueDuplicate"))
    else:
        seen.add(name)


def _container_causes(container: JsonObject, field: str, names: set[str], volumes: set[str]) -> list[Cause]:
    causes: list[Cause] = []
    _add_name(container.get("name"), f"{field}.name", names, causes)
    if not container.get("image"):
        causes.append(required(f"{field}.image"))
    if container.get("imagePullPolicy") not in _PULL_POLICIES:
        causes.append(unsupported(f"{field}.imagePullPolicy", container.get("imagePullPolicy"), _PULL_POLICIES))
    for index, port in enumerate(container.get("ports") or ()):
        number = port.get("containerPort", 0)
        if number == 0:
            causes.append(required(f"{field}.ports[{index}].containerPort"))
        elif not 0 < number < 65536:
            causes.append(cause(f"{field}.ports[{index}].containerPort", f"Invalid value: {number}: {_PORT_RULE}"))
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            causes.append(required(f"{field}.env[{index}].name"))
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        causes += _mount_causes(mount, f"{field}.volumeMounts[{index}]", volumes)
    return causes + _resource_causes(container.get("resources") or {}, f"{field}.resources")


def _mount_causes(mount: JsonObject, field: str, volumes: set[str]) -> list[Cause]:
    causes = []
    name = mount.get("name")
    if not name:
        causes.append(required(f"{field}.name"))
    elif name not in volumes:
        causes.append(cause(f"{field}.name", f'Not found: "{name}"', "FieldValueNotFound"))
    if not mount.get("mountPath"):
        causes.append(required(f"{field}.mountPath"))
    return causes


def _resource_causes(resources: JsonObject, field: str) -> list[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    causes: list[Cause] = []
    for section, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            causes += _amount_causes(name, amount, f"{field}.{section}[{name}]")
    for name, amount in requests.items():
        limit = limits.get(name)
        counted = is_extended(name) or name.startswith("hugepages-")
        if limit is None:
            if counted:
                why = "Limit must be set for non overcommitable resources"
                causes.append(required(f"{field}.limits", why))
        elif counted and quantity.parse(limit) != quantity.parse(amount):
            why = f"must be equal to {name} limit of {limit}"
            causes.append(cause(f"{field}.requests", f'Invalid value: "{amount}": {why}'))
        elif quantity.parse(amount) > quantity.parse(limit):
            why = f"must be less than or equal to {name} limit of {limit}"
            causes.append(cause(f"{field}.requests", f'Invalid value: "{amount}": {why}'))
    return causes


def _amount_causes(name: str, amount: str, field: str) -> list[Cause]:
    if quantity.milli(amount) < 0:
        return [cause(field, f'Invalid value: "{amount}": must be greater than or equal to 0')]
    if is_extended(name) and quantity.milli(amount) % 1000:
        return [cause(field, f'Invalid value: "{quantity.canonical(amount)}": must be an integer')]
    return []


def _toleration_causes(toleration: JsonObject, field: str) -> list[Cause]:
    operator = toleration.get("operator") or ""
    if not toleration.get("key") and operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        return [cause(f"{field}.operator", f'Invalid value: "{operator}": {why}')]
    if operator == "Exists" and toleration.get("value"):
        why = "value must be empty when `operator` is 'Exists'"
        return [cause(f"{field}.operator", f'Invalid value: "{toleration["value"]}": {why}')]
    if operator not in ("", "Equal", "Exists", "Lt", "Gt"):
        return [unsupported(f"{field}.operator", operator, ("Equal", "Exists"))]
    return []
