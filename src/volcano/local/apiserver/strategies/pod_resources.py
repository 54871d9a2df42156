"""What a pod asks for as a whole: its containers together, or its largest init step, plus overhead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api import quantity
from volcano.api.meta import JsonObject
from volcano.api.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Amounts = dict[str, Quantity]


def containers_of(spec: JsonObject) -> Iterator[JsonObject]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def effective(spec: JsonObject, section: str) -> Amounts:
    """The pod's "requests" or "limits"."""
    running: Amounts = {}
    for container in spec.get("containers") or ():
        add(running, _amounts(container, section))
    peak: Amounts = {}
    sidecars: Amounts = {}
    for container in spec.get("initContainers") or ():
        step = _amounts(container, section)
        if container.get("restartPolicy") == "Always":
            add(sidecars, step)
            _raise_to(peak, sidecars)
        else:
            add(step, sidecars)
            _raise_to(peak, step)
    add(running, sidecars)
    _raise_to(running, peak)
    add(running, {name: quantity.parse(value) for name, value in (spec.get("overhead") or {}).items()})
    return running


def add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: Amounts, least: Mapping[str, Quantity]) -> None:
    for name, amount in least.items():
        if name not in total or total[name] < amount:
            total[name] = amount


def _amounts(container: JsonObject, section: str) -> Amounts:
    return {
        name: quantity.parse(value) for name, value in ((container.get("resources") or {}).get(section) or {}).items()
    }
