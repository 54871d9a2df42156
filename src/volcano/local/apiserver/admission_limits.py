"""Admission by LimitRanges: defaults for containers without requests or limits, and bounds for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.api import quantity
from volcano.api.quantity import Quantity
from volcano.local.apiserver import status
from volcano.local.apiserver.pod_resources import containers_of, effective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.local.apiserver.admission import Attributes
    from volcano.local.apiserver.store import Store

JsonObject = dict[str, Any]

_LIMITS = "limitranges"


class LimitRanges:
    """Applies the LimitRanges of a namespace to pods and claims made in it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def mutate(self, attributes: Attributes) -> None:
        call = attributes.call
        if attributes.operation != "CREATE" or call.resource.qualified != "pods":
            return
        for item in self._items(call.namespace, "Container"):
            for container in containers_of(attributes.document.get("spec") or {}):
                _fill(container, item)

    def validate(self, attributes: Attributes) -> None:
        call = attributes.call
        if attributes.operation != "CREATE" or call.resource.qualified not in ("pods", "persistentvolumeclaims"):
            return
        spec = attributes.document.get("spec") or {}
        faults: list[str] = []
        if call.resource.qualified == "persistentvolumeclaims":
            resources = spec.get("resources") or {}
            for item in self._items(call.namespace, "PersistentVolumeClaim"):
                faults += _faults(item, resources.get("requests") or {}, resources.get("limits") or {})
        else:
            for item in self._items(call.namespace, "Container"):
                for container in containers_of(spec):
                    resources = container.get("resources") or {}
                    faults += _faults(item, resources.get("requests") or {}, resources.get("limits") or {})
            for item in self._items(call.namespace, "Pod"):
                faults += _faults(item, effective(spec, "requests"), effective(spec, "limits"))
        if faults:
            listing = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
            raise status.forbidden(call.resource, call.name, listing)

    def _items(self, namespace: str | None, kind: str) -> Iterator[JsonObject]:
        collection = self._store.collection(_LIMITS)
        if not collection.entries:
            return
        for key in collection.keys(f"{namespace}/"):
            for item in (collection.entries[key].document().get("spec") or {}).get("limits") or ():
                if item.get("type") == kind:
                    yield item


def _fill(container: JsonObject, item: JsonObject) -> None:
    resources = container.setdefault("resources", {})
    for section, defaults in (("requests", item.get("defaultRequest")), ("limits", item.get("default"))):
        if defaults:
            resources[section] = {**defaults, **(resources.get(section) or {})}


def _faults(item: JsonObject, requests: JsonObject, limits: JsonObject) -> Iterator[str]:
    kind = item["type"]
    for name, least in sorted((item.get("min") or {}).items()):
        if name not in requests:
            yield f"minimum {name} usage per {kind} is {least}.  No request is specified"
        elif quantity.parse(requests[name]) < quantity.parse(least):
            yield f"minimum {name} usage per {kind} is {least}, but request is {requests[name]}"
    for name, most in sorted((item.get("max") or {}).items()):
        found, what = (requests, "request") if kind == "PersistentVolumeClaim" else (limits, "limit")
        if name not in found:
            yield f"maximum {name} usage per {kind} is {most}.  No {what} is specified"
        elif quantity.parse(found[name]) > quantity.parse(most):
            yield f"maximum {name} usage per {kind} is {most}, but {what} is {found[name]}"
    for name, ratio in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        yield from _ratio_faults(kind, name, quantity.parse(ratio), requests.get(name), limits.get(name))


def _ratio_faults(kind: str, name: str, most: Quantity, request: object, limit: object) -> Iterator[str]:
    if request is None or limit is None:
        missing = "request" if request is None else "limit"
        yield f"{name} max limit to request ratio per {kind} is {most}, but no {missing} is specified"
        return
    provided = quantity.parse(str(limit)).nano / max(quantity.parse(str(request)).nano, 1)
    if provided > most.nano / quantity.NANO:
        yield f"{name} max limit to request ratio per {kind} is {most}, but provided ratio is {provided:.6f}"
