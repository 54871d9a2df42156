"""How much of a device's capacity a request takes: devices that allow it are shared until their capacity is used up.

Used by allocator.py; amounts are in thousandths of the unit, as quantities are compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from volcano.api import quantity
from volcano.scheduler.plugins.kubernetes.claims.selectors import qualified

if TYPE_CHECKING:
    from volcano.api.core.dra import Device

Consumed = dict[str, int]
"""By the full name of a capacity."""


def capacities(device: Device, driver: str) -> Consumed:
    return {_full(name, driver): _milli(entry.get("value")) for name, entry in device.capacity.items()}


def requested(capacity: Mapping[str, Any] | None, driver: str) -> Consumed:
    """The amounts that a request names."""
    return {_full(name, driver): _milli(amount) for name, amount in ((capacity or {}).get("requests") or {}).items()}


def consumption(device: Device, driver: str, wanted: Consumed) -> Consumed | None:
    """What the request takes of each capacity, rounded up as the device wants it; None if it cannot have that.

    Of a capacity that the request does not name it takes what the device says, or all of it.
    """
    known = capacities(device, driver)
    if not wanted.keys() <= known.keys():
        return None
    taken: Consumed = {}
    for name, entry in device.capacity.items():
        full = _full(name, driver)
        amount = _adjusted(wanted.get(full), known[full], entry.get("requestPolicy") or {})
        if amount is None or amount > known[full]:
            return None
        taken[full] = amount
    return taken


def as_quantities(consumed: Consumed, device: Device, driver: str) -> dict[str, str]:
    """By the names that the device uses, in the form of its own amounts."""
    shown = {}
    for name, entry in device.capacity.items():
        whole = quantity.parse(str(entry.get("value") or "0"))
        amount = consumed.get(_full(name, driver))
        if amount is not None:
            shown[name] = str(quantity.Quantity(amount * quantity.NANO // 1000, whole.format))
    return shown


def from_quantities(consumed: Mapping[str, Any] | None, driver: str) -> Consumed:
    return {_full(name, driver): _milli(amount) for name, amount in (consumed or {}).items()}


def _adjusted(wanted: int | None, whole: int, policy: Mapping[str, Any]) -> int | None:
    if wanted is None:
        return _milli(policy["default"]) if policy.get("default") is not None else whole
    if values := policy.get("validValues"):
        return min((value for value in map(_milli, values) if value >= wanted), default=None)
    limits = policy.get("validRange")
    if not limits or limits.get("min") is None:
        return wanted
    least, step = _milli(limits["min"]), _milli(limits.get("step"))
    amount = max(wanted, least)
    if step:
        amount = least + -(-(amount - least) // step) * step
    return None if limits.get("max") is not None and amount > _milli(limits["max"]) else amount


def _full(name: str, driver: str) -> str:
    return "/".join(qualified(name, driver))


def _milli(amount: Any) -> int:
    return quantity.milli(str(amount or "0"))
