"""Which devices an expression selects, by Kubernetes' CEL environment for devices; needs the extra `volcano[cel]`.

Quantities and versions are tagged texts inside an expression, for the engine knows no types of ours.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from volcano.api import quantity

if TYPE_CHECKING:
    from volcano.api.core.dra import Device

QUANTITY: Final = "quantity:"
VERSION: Final = "version:"
_ENGINE: Final = ("cel", "ext.ext_optional", "ext.ext_strings")
_DOMAIN: Final = re.compile(r"""\[\s*["']([^"']+)["']\s*\]""")
_VERSION: Final = re.compile(r"^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$")


class SelectorError(ValueError):
    """An expression cannot be evaluated; the message says which one and why."""


class Selectors(Protocol):
    def matches(self, expression: str, driver: str, device: Device) -> bool:
        """Raises SelectorError."""


class NoSelectors:
    """Where the engine is not installed."""

    def matches(self, expression: str, driver: str, device: Device) -> bool:
        raise SelectorError(f"CEL selector {expression!r} needs the extra: pip install 'volcano[cel]'")


def installed() -> Selectors:
    try:
        cel, optional, strings = (importlib.import_module(f"cel_expr_python.{name}") for name in _ENGINE)
    except ImportError:
        return NoSelectors()
    return CelSelectors(cel, [optional.ExtOptional(), strings.ExtStrings()])


class WhenAsked:
    """The installed engine, loaded (20 MB) when the first expression comes: most clusters have none."""

    def __init__(self) -> None:
        self._selectors: Selectors | None = None

    def matches(self, expression: str, driver: str, device: Device) -> bool:
        if self._selectors is None:
            self._selectors = installed()
        return self._selectors.matches(expression, driver, device)


class Remembered:
    """Asks about each device once. Devices must live as long as this: they are told apart by identity."""

    def __init__(self, selectors: Selectors) -> None:
        self._selectors = selectors
        self._answers: dict[tuple[str, int], bool] = {}

    def matches(self, expression: str, driver: str, device: Device) -> bool:
        key = (expression, id(device))
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._selectors.matches(expression, driver, device)
        return answer


class CelSelectors:
    def __init__(self, cel: Any, extensions: list[Any]) -> None:
        kind = cel.Type
        compare = {
            "compareTo": (_order, kind.INT),
            "isGreaterThan": (_greater, kind.BOOL),
            "isLessThan": (_less, kind.BOOL),
        }
        functions = [
            _function(cel, name, [kind.STRING, kind.STRING], result, implementation, member=True)
            for name, (implementation, result) in compare.items()
        ]
        functions += [
            _function(cel, "quantity", [kind.STRING], kind.STRING, tagged_quantity),
            _function(cel, "semver", [kind.STRING], kind.STRING, tagged_version),
        ]
        self._environment = cel.NewEnv(
            variables={"device": kind.Map(kind.STRING, kind.DYN)},
            functions=functions,
            extensions=extensions,
        )
        self._compiled: dict[str, Any] = {}

    def matches(self, expression: str, driver: str, device: Device) -> bool:
        try:
            compiled = self._compiled.get(expression)
            if compiled is None:
                compiled = self._compiled[expression] = self._environment.compile(expression)
            domains = _DOMAIN.findall(expression)
            result = compiled.eval(data={"device": variables(driver, device, domains)})
            found = result.value()
        except Exception as problem:  # the engine has no error class of its own
            raise SelectorError(f"CEL selector {expression!r}: {problem}") from problem
        if not isinstance(found, bool):
            raise SelectorError(f"CEL selector {expression!r} gives no true or false for {device.name}: {found}")
        return found


def _function(
    cel: Any, name: str, parameters: list[Any], result: Any, implementation: Callable[..., Any], *, member: bool = False
) -> Any:
    overload = cel.Overload(f"device_{name}", result, parameters, member, implementation)
    return cel.FunctionDecl(name, [overload])


def variables(driver: str, device: Device, domains: list[str]) -> dict[str, Any]:
    """`device` of an expression; a domain that the device does not have is empty, not missing."""
    attributes: dict[str, dict[str, Any]] = {domain: {} for domain in (driver, *domains)}
    capacity: dict[str, dict[str, Any]] = {domain: {} for domain in (driver, *domains)}
    for name, value in device.attributes.items():
        domain, short = qualified(name, driver)
        attributes.setdefault(domain, {})[short] = attribute(value)
    for name, value in device.capacity.items():
        domain, short = qualified(name, driver)
        capacity.setdefault(domain, {})[short] = tagged_quantity(str(value.get("value", "0")))
    return {
        "driver": driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": bool(device.allow_multiple_allocations),
    }


def qualified(name: str, driver: str) -> tuple[str, str]:
    """Domain and name of an attribute; without a domain it is the driver's."""
    domain, slash, short = name.partition("/")
    return (domain, short) if slash else (driver, name)


def attribute(value: Mapping[str, Any]) -> Any:
    if "version" in value:
        return tagged_version(str(value["version"]))
    return next(iter(value.values()), None)


def tagged_quantity(text: str) -> str:
    return f"{QUANTITY}{quantity.milli(text)}"


def tagged_version(text: str) -> str:
    if not _VERSION.match(text):
        raise SelectorError(f"{text!r} is no semantic version")
    return f"{VERSION}{text}"


def _order(left: Any, right: Any) -> int:
    mine, other = _key(left), _key(right)
    return (mine > other) - (mine < other)


def _greater(left: Any, right: Any) -> bool:
    return _order(left, right) > 0


def _less(left: Any, right: Any) -> bool:
    return _order(left, right) < 0


def _key(value: Any) -> tuple[Any, ...]:
    text = str(value)
    if text.startswith(QUANTITY):
        return (int(text.removeprefix(QUANTITY)),)
    found = _VERSION.match(text.removeprefix(VERSION))
    if found is None:
        raise SelectorError(f"{text!r} is neither a quantity nor a version")
    parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in (found[4] or "").split(".") if p)
    return (int(found[1]), int(found[2]), int(found[3]), not parts, parts)
