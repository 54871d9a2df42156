"""Admission by LimitRanges: defaults for containers without requests or limits, and bounds for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api import quantity
from volcano.api.meta import JsonObject
from volcano.api.quantity import Quantity
from volcano.local.apiserver import status
from volcano.local.apiserver.strategies.pod_resources import containers_of, effective

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from volcano.local.apiserver.admission.chain import Attributes
    from volcano.local.apiserver.storage.store import Store

    Amount = str | int | float | Quantity
    Given = Mapping[str, Amount]

_LIMITS = "limitranges"
_ANNOTATION = "kubernetes.io/limit-ranger"


class LimitRanges:
    """Applies the LimitRanges of a namespace to pods and claims made in it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def mutate(self, attributes: Attributes) -> None:
        call = attributes.call
        if attributes.operation != "CREATE" or call.resource.qualified != "pods":
            return
        notes: list[str] = []
        spec = attributes.document.get("spec") or {}
        for item in self._items(call.namespace, "Container"):
            for section, word in (("containers", "container"), ("initContainers", "init container")):
                for container in spec.get(section) or ():
                    notes += _fill(container, item, f"{word} {container.get('name')}")
        if notes:
            annotations = attributes.document["metadata"].setdefault("annotations", {})
            annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"

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


def _fill(container: JsonObject, item: JsonObject, subject: str) -> Iterator[str]:
    """Set what the container leaves open, and say what was set."""
    resources = container.setdefault("resources", {})
    for section, defaults in (("requests", item.get("defaultRequest")), ("limits", item.get("default"))):
        given = resources.get(section) or {}
        added = sorted(name for name in defaults or () if name not in given)
        if added:
            resources[section] = {**(defaults or {}), **given}
            yield f"{', '.join(added)} {section[:-1]} for {subject}"


def _faults(item: JsonObject, requests: Given, limits: Given) -> Iterator[str]:
    kind, claims = item["type"], item["type"] == "PersistentVolumeClaim"
    for name, least in sorted((item.get("min") or {}).items()):
        first, second = ("request", requests), ("limit", limits)
        yield from _bound(f"minimum {name} usage per {kind} is {least}", name, quantity.parse(least), first, second, -1)
    for name, most in sorted((item.get("max") or {}).items()):
        first, second = ("limit", limits), ("request", requests)
        if claims:
            first, second = second, ("", {})
        yield from _bound(f"maximum {name} usage per {kind} is {most}", name, quantity.parse(most), first, second, 1)
    for name, ratio in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        rule = f"{name} max limit to request ratio per {kind} is {ratio}"
        yield from _ratio_faults(rule, quantity.parse(ratio), requests.get(name), limits.get(name))


def _bound(
    rule: str, name: str, bound: Quantity, first: tuple[str, Given], second: tuple[str, Given], direction: int
) -> Iterator[str]:
    """`first` must be given and within the bound; `second` within it if it is given."""
    if name not in first[1]:
        yield f"{rule}.  No {first[0]} is specified"
        return
    for what, amounts in (first, second):
        amount = amounts.get(name)
        if amount is not None and direction * (quantity.parse(amount).nano - bound.nano) > 0:
            yield f"{rule}, but {what} is {amount}"
            return


def _ratio_faults(rule: str, most: Quantity, request: Amount | None, limit: Amount | None) -> Iterator[str]:
    asked, allowed = (quantity.parse(amount).nano if amount is not None else 0 for amount in (request, limit))
    if not asked or not allowed:
        missing = "limit" if asked else "request"
        yield f"{rule}, but no {missing} is specified or {missing} is 0"
    elif allowed * quantity.NANO > most.nano * asked:
        yield f"{rule}, but provided ratio is {allowed / asked:.6f}"
