"""Requests and limits of containers and of the pod: resource names, values, and how they relate.

Amounts are exact quantities (`api.quantity`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from volcano.api import quantity
from volcano.api.resource_names import is_extended
from volcano.webhooks.rules import names
from volcano.webhooks.rules.documents import mapping, mappings
from volcano.webhooks.rules.fields import forbidden, invalid, required, unsupported

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.api.quantity import Quantity
    from volcano.webhooks.rules.model import Cause

HUGE_PAGES: Final = "hugepages-"
STANDARD: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
POD_LEVEL: Final = frozenset({"cpu", "memory"})
COUNTED: Final = frozenset({"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"})
NOT_A_QUANTITY: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

ZERO: Final = quantity.parse(0)

Amounts = Mapping[str, "Quantity"]


def container_errors(resources: JsonObject, path: str) -> Iterator[Cause]:
    for field in ("limits", "requests"):
        for name, value in mapping(resources, field).items():
            where = f"{path}.{field}[{name}]"
            yield from _container_name_errors(name, where)
            yield from value_errors(name, value, where)
    yield from _relation_errors(resources, path)


def pod_errors(spec: JsonObject, path: str) -> Iterator[Cause]:
    """Resources given for the pod as a whole, and that its containers stay within them."""
    resources = mapping(spec, "resources")
    if not resources:
        return
    for field in ("limits", "requests"):
        for name, value in mapping(resources, field).items():
            where = f"{path}.{field}[{name}]"
            if name not in POD_LEVEL and not name.startswith(HUGE_PAGES):
                yield unsupported(where, name, (*POD_LEVEL, HUGE_PAGES))
            yield from value_errors(name, value, where)
    yield from _relation_errors(resources, path)
    requests, limits = amounts(mapping(resources, "requests")), amounts(mapping(resources, "limits"))
    for name, needed in _container_requests(spec).items():
        if name in requests and needed > requests[name]:
            detail = f"must be greater than or equal to aggregate container requests of {needed}"
            yield invalid(f"{path}.requests[{name}]", str(requests[name]), detail)
    for container in mappings(spec, "containers"):
        for name, limit in amounts(mapping(mapping(container, "resources"), "limits")).items():
            if name in limits and limit > limits[name]:
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                yield invalid(f"{path}.limits[{name}]", str(limit), detail)


def value_errors(name: str, value: object, path: str) -> Iterator[Cause]:
    """An amount is a quantity, not negative, and whole where things are counted."""
    amount = amount_of(value)
    if amount is None:
        yield invalid(path, value, NOT_A_QUANTITY)
        return
    if amount < ZERO:
        yield invalid(path, str(amount), "must be greater than or equal to 0")
    if (name in COUNTED or is_extended(name)) and amount.milli % 1000:
        yield invalid(path, str(amount), "must be an integer")


def amounts(resources: JsonObject) -> dict[str, Quantity]:
    """The readable amounts of a resource list; unreadable ones are reported by `value_errors`."""
    found = ((name, amount_of(value)) for name, value in resources.items())
    return {name: amount for name, amount in found if amount is not None}


def amount_of(value: object) -> Quantity | None:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        return quantity.parse(value)
    except quantity.QuantityError:
        return None


def _container_name_errors(name: str, path: str) -> Iterator[Cause]:
    for error in names.qualified_name(name):
        yield invalid(path, name, error)
    if "/" not in name and name not in STANDARD and not name.startswith(HUGE_PAGES):
        yield invalid(path, name, "must be a standard resource for containers")


def _relation_errors(resources: JsonObject, path: str) -> Iterator[Cause]:
    requests, limits = amounts(mapping(resources, "requests")), amounts(mapping(resources, "limits"))
    for name, request in requests.items():
        limit = limits.get(name)
        overcommittable = not is_extended(name) and not name.startswith(HUGE_PAGES)
        if limit is None:
            if not overcommittable:
                yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif not overcommittable and request != limit:
            yield invalid(f"{path}.requests", str(request), f"must be equal to {name} limit of {limit}")
        elif request > limit:
            yield invalid(f"{path}.requests", str(request), f"must be less than or equal to {name} limit of {limit}")
    given = requests.keys() | limits.keys()
    if not POD_LEVEL & given and any(name.startswith(HUGE_PAGES) for name in given):
        yield forbidden(path, "HugePages require cpu or memory")


def _container_requests(spec: JsonObject) -> Amounts:
    """What the pod's containers need at once: sidecars and main containers together, or the largest init step."""
    running: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in mappings(spec, "initContainers"):
        needs = amounts(mapping(mapping(container, "resources"), "requests"))
        if container.get("restartPolicy") == "Always":
            running = _sum(running, needs)
            peak = _largest(peak, running)
        else:
            peak = _largest(peak, _sum(running, needs))
    for container in mappings(spec, "containers"):
        running = _sum(running, amounts(mapping(mapping(container, "resources"), "requests")))
    return _largest(running, peak)


def _sum(left: Amounts, right: Amounts) -> dict[str, Quantity]:
    return {name: left.get(name, ZERO) + right.get(name, ZERO) for name in {**left, **right}}


def _largest(left: Amounts, right: Amounts) -> dict[str, Quantity]:
    return {name: max(left.get(name, amount), amount) for name, amount in {**left, **right}.items()}
