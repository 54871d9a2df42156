"""Admission of pods: priority from its class, the service account, the default tolerations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.local.apiserver import status

if TYPE_CHECKING:
    from volcano.local.apiserver.admission.chain import Attributes
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.storage.store import Store

_CLASSES = "priorityclasses.scheduling.k8s.io"
_UNREACHABLE_SECONDS = 300
_TAINTS = (keys.TAINT_NOT_READY, keys.TAINT_UNREACHABLE)


class PodDefaults:
    """What a pod gets from the cluster it is made in."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def mutate(self, attributes: Attributes) -> None:
        call = attributes.call
        if call.resource.qualified != "pods" or call.subresource:
            return
        spec = attributes.document.setdefault("spec", {})
        if attributes.operation == "UPDATE":
            _set_tolerations(spec)
        if attributes.operation != "CREATE":
            return
        self._set_priority(call, spec)
        self._set_account(call, spec)
        _set_tolerations(spec)

    def validate(self, attributes: Attributes) -> None:
        call = attributes.call
        if call.resource.qualified != _CLASSES:
            return
        if attributes.operation != "DELETE":
            self._check_class(call, attributes.document)
        elif call.name.startswith("system-"):
            why = "this is a system priority class and cannot be deleted"
            raise status.forbidden(call.resource, call.name, why)

    def _set_priority(self, call: Call, spec: JsonObject) -> None:
        name = spec.get("priorityClassName")
        if name:
            value, policy = self._class(call, name)
        else:
            name, value, policy = self._default_class()
            if name:
                spec["priorityClassName"] = name
        if "priority" in spec and spec["priority"] != value:
            why = (
                f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
                f"priority admission controller computed {value} from the given PriorityClass name"
            )
            raise status.forbidden(call.resource, call.name, why)
        spec["priority"] = value
        spec.setdefault("preemptionPolicy", policy)

    def _class(self, call: Call, name: str) -> tuple[int, str]:
        entry = self._store.latest(_CLASSES, name)
        if entry is None:
            raise status.forbidden(call.resource, call.name, f"no PriorityClass with name {name} was found")
        found = entry.document()
        return found.get("value", 0), found.get("preemptionPolicy") or "PreemptLowerPriority"

    def _default_class(self) -> tuple[str, int, str]:
        """The class marked globalDefault; with several, the lowest one counts."""
        best: tuple[str, int, str] | None = None
        for entry in self._store.collection(_CLASSES).entries.values():
            if b'"globalDefault":true' not in entry.body:
                continue
            found = entry.document()
            value = found.get("value", 0)
            if found.get("globalDefault") and (best is None or value < best[1]):
                best = (entry.key, value, found.get("preemptionPolicy") or "PreemptLowerPriority")
        return best or ("", 0, "PreemptLowerPriority")

    def _check_class(self, call: Call, document: JsonObject) -> None:
        if document.get("globalDefault"):
            other = self._default_class()[0]
            if other and other != call.name:
                why = f"PriorityClass {other} is already marked as default. Only one default can exist"
                raise status.forbidden(call.resource, call.name, why)

    def _set_account(self, call: Call, spec: JsonObject) -> None:
        name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        if name != "default" and self._store.latest("serviceaccounts", f"{call.namespace}/{name}") is None:
            why = f'error looking up service account {call.namespace}/{name}: serviceaccount "{name}" not found'
            raise status.forbidden(call.resource, call.name, why)


def _set_tolerations(spec: JsonObject) -> None:
    """Stay five minutes on a node that is lost, unless the pod says otherwise."""
    present = spec.get("tolerations") or []
    missing = [taint for taint in _TAINTS if not any(_tolerates(item, taint) for item in present)]
    if missing:
        spec["tolerations"] = present + [
            {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _UNREACHABLE_SECONDS}
            for taint in missing
        ]


def _tolerates(toleration: JsonObject, taint: str) -> bool:
    return toleration.get("key", taint) in (taint, "") and toleration.get("effect", "NoExecute") in ("NoExecute", "")
