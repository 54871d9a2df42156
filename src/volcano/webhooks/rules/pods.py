"""Pods: sent to their resource group and gated (mutate); their disruption budget annotations (validate).

Called for every pod of a cluster, so each rule first looks whether it applies at all, on the raw document.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from volcano.api import keys
from volcano.webhooks.rules.documents import mapping
from volcano.webhooks.rules.edits import Edits
from volcano.webhooks.rules.model import (
    ALLOWED,
    AdmissionRequest,
    AdmissionResponse,
    Cause,
    ResourceGroup,
    Settings,
    World,
    denied,
)

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject

BUDGET_ANNOTATIONS: Final = (keys.JDB_MIN_AVAILABLE, keys.JDB_MAX_UNAVAILABLE)
JUDGED_ANNOTATIONS: Final = (*BUDGET_ANNOTATIONS, keys.VOLCANO_GROUP_NAME)
"""Of a pod without any of them, `validate` has nothing to say."""
INT32_MAX: Final = 2**31 - 1
_GROUP_WARNING: Final = AdmissionResponse(
    warnings=(
        f"metadata.annotations[{keys.VOLCANO_GROUP_NAME}]: taken as the pod's group; other schedulers and tools "
        f"look for {keys.GROUP_NAME}",
    )
)
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


def mutate(request: AdmissionRequest, _world: World, settings: Settings) -> AdmissionResponse:
    """Scheduling gate of the queue, then the first resource group that matches."""
    if request.operation != "CREATE":
        return denied("expect operation to be 'CREATE' ")
    pod = request.object
    if settings.resource_groups is None or pod is None:
        return ALLOWED
    annotations = mapping(mapping(pod, "metadata"), "annotations")
    gated = settings.queue_admission_gates and annotations.get(keys.QUEUE_ALLOCATION_GATE) == "true"
    group = _first_match(settings.resource_groups, pod, annotations, request.namespace)
    if not gated and group is None:
        return ALLOWED
    edits = Edits(pod)
    if gated:
        _add_gate(edits)
    if group is not None:
        _join(edits, group)
    return edits.response()


def _add_gate(edits: Edits) -> None:
    gate = {"name": keys.QUEUE_ALLOCATION_GATE}
    gates = mapping(edits.document, "spec").get("schedulingGates")
    if gates is None:
        edits.add([gate], "spec", "schedulingGates")
    elif gate not in gates:
        edits.append(gate, "spec", "schedulingGates")


def _join(edits: Edits, group: ResourceGroup) -> None:
    spec = mapping(edits.document, "spec")
    if group.labels:
        edits.add({**mapping(spec, "nodeSelector"), **group.labels}, "spec", "nodeSelector")
    if not spec.get("affinity") and (affinity := _json_mapping(group.affinity)):
        edits.add(affinity, "spec", "affinity")
    if group.tolerations:
        edits.add([*(spec.get("tolerations") or ()), *group.tolerations], "spec", "tolerations")
    if group.scheduler_name:
        edits.add(group.scheduler_name, "spec", "schedulerName")


def _first_match(
    groups: tuple[ResourceGroup, ...], pod: JsonObject, annotations: JsonObject, namespace: str
) -> ResourceGroup | None:
    namespace = mapping(pod, "metadata").get("namespace") or namespace
    return next((group for group in groups if _matches(group, namespace, annotations)), None)


def _matches(group: ResourceGroup, namespace: str, annotations: JsonObject) -> bool:
    match group.object.key:
        case "namespace":
            return namespace in group.object.value
        case "annotation":
            return _any_pair(group.object.value, annotations)
        case "":
            return (
                _any_pair(group.object.value, annotations)
                or annotations.get(keys.RESOURCE_GROUP) == group.resource_group
            )
        case _:
            return False


def _any_pair(pairs: tuple[str, ...], annotations: JsonObject) -> bool:
    """Whether one of the "key: value" lines is an annotation of the pod."""
    for pair in pairs:
        key, colon, value = pair.partition(":")
        if colon and annotations.get(key.strip().strip("\"'")) == value.strip().strip("\"'"):
            return True
    return False


def validate(request: AdmissionRequest, _world: World, settings: Settings) -> AdmissionResponse:
    """At most one disruption budget annotation, with a positive count or a percentage."""
    if request.operation != "CREATE":
        return denied("expect operation to be 'CREATE'")
    pod = request.object
    if pod is None or mapping(pod, "spec").get("schedulerName") not in settings.scheduler_names:
        return ALLOWED
    annotations = mapping(mapping(pod, "metadata"), "annotations")
    given = [key for key in BUDGET_ANNOTATIONS if key in annotations]
    if not given:
        return (
            _GROUP_WARNING if keys.VOLCANO_GROUP_NAME in annotations and keys.GROUP_NAME not in annotations else ALLOWED
        )
    for key in given:
        if message := _budget_error(key, annotations[key]):
            return denied(
                message, [Cause(_annotation(key), message, 'give a count such as "2" or a share such as "50%"')]
            )
    if len(given) > 1:
        message = f"not allow configure multiple annotations <[{' '.join(BUDGET_ANNOTATIONS)}]> at same time"
        return denied(message, [Cause(_annotation(given[1]), message, f"keep {given[0]} or {given[1]}, not both")])
    return ALLOWED


def _budget_error(key: str, value: Any) -> str:
    text = str(value)
    digits = text.removesuffix("%")
    if not _INTEGER.fullmatch(digits):
        return f'invalid value strconv.Atoi: parsing "{digits}": invalid syntax for {key}'
    percentage = text.endswith("%") or int(digits) > INT32_MAX
    if percentage and not 0 < int(digits) < 100:
        return f'invalid value <"{text}"> for {key}, it must be a valid percentage which between 1% ~ 99%'
    if not percentage and int(digits) <= 0:
        return f'invalid value <"{text}"> for {key}, it must be a positive integer'
    return ""


def _annotation(key: str) -> str:
    return f"metadata.annotations[{key}]"


def _json_mapping(text: str) -> JsonObject:
    """A JSON object; empty when the text is not one: a damaged group setting must not stop pods."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {}
