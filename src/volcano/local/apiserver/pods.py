"""Pods as the server writes them: defaults, quality of service, what may change, graceful deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.local.apiserver.status import cause, required
from volcano.local.apiserver.strategies import Strategy

if TYPE_CHECKING:
    from volcano.local.apiserver.faults import Cause

JsonObject = dict[str, Any]

DEFAULT_GRACE_SECONDS = 30
_FINISHED = ("Succeeded", "Failed")
_MUTABLE_SPEC = ("activeDeadlineSeconds", "tolerations", "schedulingGates", "terminationGracePeriodSeconds")
_MAY_NOT_CHANGE = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


class PodStrategy(Strategy):
    """The kind that everything else is about."""

    def default(self, document: JsonObject) -> None:
        default_pod_spec(document.setdefault("spec", {}))

    def prepare_create(self, document: JsonObject) -> None:
        super().prepare_create(document)
        document["status"] = {"phase": "Pending", "qosClass": qos_class(document["spec"])}

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


def default_pod_spec(spec: JsonObject) -> None:
    """The defaults of Kubernetes for a pod's spec, containers included."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("enableServiceLinks", True)
    for container in spec.get("initContainers") or ():
        _default_container(container)
    for container in spec.get("containers") or ():
        _default_container(container)


def _default_container(container: JsonObject) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = _pull_policy(container.get("image") or "")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    resources = container.get("resources")
    if resources is None:
        container["resources"] = {}
    elif limits := resources.get("limits"):
        requests = resources.setdefault("requests", {})
        for name, value in limits.items():
            requests.setdefault(name, value)


def _pull_policy(image: str) -> str:
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


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


def spec_causes(spec: JsonObject, field: str) -> list[Cause]:
    """What makes a pod impossible."""
    causes = []
    containers = spec.get("containers")
    if not containers:
        causes.append(required(f"{field}.containers"))
    names: set[str] = set()
    for section in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(section) or ()):
            causes += _container_causes(container, f"{field}.{section}[{index}]", names)
    if spec.get("restartPolicy") not in ("Always", "OnFailure", "Never"):
        value = spec.get("restartPolicy")
        text = f'Unsupported value: "{value}": supported values: "Always", "OnFailure", "Never"'
        causes.append(cause(f"{field}.restartPolicy", text, "FieldValueNotSupported"))
    return causes


def _container_causes(container: JsonObject, field: str, names: set[str]) -> list[Cause]:
    causes = []
    name = container.get("name")
    if not name:
        causes.append(required(f"{field}.name"))
    elif name in names:
        causes.append(cause(f"{field}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate"))
    else:
        names.add(name)
    if not container.get("image"):
        causes.append(required(f"{field}.image"))
    return causes


def update_causes(new: JsonObject, old: JsonObject) -> list[Cause]:
    """A pod's spec is fixed but for images, deadlines, more tolerations and fewer scheduling gates."""
    if new == old:
        return []
    if _frozen(new) != _frozen(old):
        return [cause("spec", _MAY_NOT_CHANGE, "FieldValueForbidden")]
    kept = new.get("tolerations") or []
    causes = []
    if any(toleration not in kept for toleration in old.get("tolerations") or ()):
        text = "Forbidden: existing toleration can not be modified except its tolerationSeconds"
        causes.append(cause("spec.tolerations", text, "FieldValueForbidden"))
    gates = old.get("schedulingGates") or []
    if any(gate not in gates for gate in new.get("schedulingGates") or ()):
        text = "Forbidden: only deletion is allowed, but found new scheduling gate"
        causes.append(cause("spec.schedulingGates", text, "FieldValueForbidden"))
    return causes


def _frozen(spec: JsonObject) -> JsonObject:
    frozen = {key: value for key, value in spec.items() if key not in _MUTABLE_SPEC}
    for section in ("containers", "initContainers"):
        if section in frozen:
            frozen[section] = [{k: v for k, v in item.items() if k != "image"} for item in frozen[section] or ()]
    return frozen
