"""Checks of single values: types, bounds, lengths, patterns, formats, enumerations."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import uuid
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from volcano.api import duration
from volcano.api.schema import errors
from volcano.api.schema.errors import Problems, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from volcano.api.meta import JsonObject

Check: TypeAlias = "Callable[[Any], Problems]"

_DATE_TIME: Final = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})",
    re.ASCII,
)
_INT_RANGES: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_POSIX: Final = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:space:]": r"\s",
    "[:xdigit:]": "0-9A-Fa-f",
}
SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})


def checks_of(schema: JsonObject) -> list[Check]:
    """All checks of a scalar schema but its type; each ignores values of types it is not about."""
    found: list[Check] = []
    if "enum" in schema:
        found.append(_enum(schema["enum"]))
    if "pattern" in schema:
        found.append(_pattern(schema["pattern"]))
    if schema.get("minLength"):
        found.append(_min_length(schema["minLength"]))
    if "maxLength" in schema:
        found.append(_max_length(schema["maxLength"]))
    if "minimum" in schema:
        found.append(_minimum(schema["minimum"], bool(schema.get("exclusiveMinimum"))))
    if "maximum" in schema:
        found.append(_maximum(schema["maximum"], bool(schema.get("exclusiveMaximum"))))
    if "multipleOf" in schema:
        found.append(_multiple_of(schema["multipleOf"]))
    format_check = _format(schema.get("format", ""))
    if format_check is not None:
        found.append(format_check)
    return found


def is_of_type(value: Any, expected: str) -> bool:
    """Whether a JSON value has an OpenAPI type; whole numbers count as integers however they are written."""
    match expected:
        case "string":
            return isinstance(value, str)
        case "integer":
            return type(value) is int or (isinstance(value, float) and value.is_integer())
        case "number":
            return type(value) in (int, float)
        case "boolean":
            return isinstance(value, bool)
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case _:
            return True


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A Go regular expression as a Python one; only spellings that differ are changed."""
    text = pattern.replace(r"\z", r"\Z")
    for name, members in _POSIX.items():
        text = text.replace(name, members)
    if text.endswith("$") and not text.endswith(r"\$"):
        text = text[:-1] + r"\Z"
    try:
        return re.compile(text)
    except re.error as error:
        raise SchemaError(f"pattern {pattern!r} is not a usable regular expression: {error}") from error


def _enum(allowed: list[Any]) -> Check:
    quick = frozenset(value for value in allowed if isinstance(value, str))

    def check(value: Any) -> Problems:
        if isinstance(value, str):
            return None if value in quick else [errors.unsupported(value, allowed)]
        same = (choice for choice in allowed if type(choice) is type(value) and choice == value)
        return None if next(same, None) is not None or value in allowed else [errors.unsupported(value, allowed)]

    return check


def _pattern(pattern: str) -> Check:
    search = compile_pattern(pattern).search

    def check(value: Any) -> Problems:
        if not isinstance(value, str) or search(value):
            return None
        return [errors.invalid(value, f"\0 in body should match '{pattern}'")]

    return check


def _min_length(limit: int) -> Check:
    def check(value: Any) -> Problems:
        if not isinstance(value, str) or len(value) >= limit:
            return None
        return [errors.invalid(value, f"\0 in body should be at least {limit} chars long")]

    return check


def _max_length(limit: int) -> Check:
    def check(value: Any) -> Problems:
        return [errors.too_long(limit)] if isinstance(value, str) and len(value) > limit else None

    return check


def _minimum(limit: float, exclusive: bool) -> Check:
    words = f"\0 in body should be greater than {'' if exclusive else 'or equal to '}{errors.shown(limit)}"

    def check(value: Any) -> Problems:
        if type(value) not in (int, float) or value > limit or (value == limit and not exclusive):
            return None
        return [errors.invalid(value, words)]

    return check


def _maximum(limit: float, exclusive: bool) -> Check:
    words = f"\0 in body should be less than {'' if exclusive else 'or equal to '}{errors.shown(limit)}"

    def check(value: Any) -> Problems:
        if type(value) not in (int, float) or value < limit or (value == limit and not exclusive):
            return None
        return [errors.invalid(value, words)]

    return check


def _multiple_of(factor: float) -> Check:
    def check(value: Any) -> Problems:
        if type(value) not in (int, float) or value % factor == 0:
            return None
        return [errors.invalid(value, f"\0 in body should be a multiple of {errors.shown(factor)}")]

    return check


def _format(name: str) -> Check | None:
    if name in _INT_RANGES:
        return _int_range(name)
    accepts = _FORMATS.get(name)
    if accepts is None:
        return None

    def check(value: Any) -> Problems:
        return None if not isinstance(value, str) or accepts(value) else [errors.wrong_format(value, name)]

    return check


def _int_range(name: str) -> Check:
    low, high = _INT_RANGES[name]

    def check(value: Any) -> Problems:
        if type(value) is not int or low <= value <= high:
            return None
        return [errors.invalid(value, f"\0 in body must be a number that fits into {name} ({low} to {high})")]

    return check


def _is_date_time(text: str) -> bool:
    return _DATE_TIME.fullmatch(text) is not None


def _accepts(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def accepts(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return accepts


_FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "date-time": _is_date_time,
    "datetime": _is_date_time,
    "date": _accepts(date.fromisoformat),
    "byte": _accepts(lambda text: base64.b64decode(text, validate=True)),
    "ipv4": _accepts(ipaddress.IPv4Address),
    "ipv6": _accepts(ipaddress.IPv6Address),
    "cidr": _accepts(lambda text: ipaddress.ip_network(text, strict=False)),
    "duration": _accepts(duration.parse_nanoseconds),
    "uuid": _accepts(uuid.UUID),
}
