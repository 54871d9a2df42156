"""The closures a schema is compiled to: for objects, maps, lists, single values and junctions.

`clean` functions change documents in place and return the unknown fields; `validate` functions return problems.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from volcano.api.schema import errors
from volcano.api.schema.errors import Problem, Problems, under
from volcano.api.schema.scalars import Check, checks_of, is_of_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from volcano.api.meta import JsonObject
    from volcano.api.schema.errors import Step

Unknown: TypeAlias = "list[list[Step]] | None"
Cleaner: TypeAlias = "Callable[[Any], Unknown]"

PLAIN: Final = {"string": str, "boolean": bool}


class Place(Protocol):
    """What the closures of an object know of those of its fields."""

    clean: Cleaner
    validate: Check
    nullable: bool
    plain: type | None
    trivial: bool


def is_int_or_string(schema: JsonObject) -> bool:
    return bool(schema.get("x-kubernetes-int-or-string"))


def nothing_to_clean(value: Any) -> Unknown:  # noqa: ARG001 - every cleaner has the same shape
    return None


def combined(typed: Check, further: list[Check], *, nullable: bool) -> Check:
    if not further and not nullable:
        return typed

    def validate(value: Any) -> Problems:
        if value is None and nullable:
            return None
        found = typed(value)
        for check in further:
            more = check(value)
            if more:
                found = [*(found or ()), *more]
        return found

    return validate


def scalar_check(schema: JsonObject) -> Check:
    checks = checks_of(schema)
    kind = schema.get("type", "")
    if is_int_or_string(schema):
        return _int_or_string(checks)
    plain = PLAIN.get(kind)

    def validate(value: Any) -> Problems:
        if type(value) is not plain and not is_of_type(value, kind):
            return [errors.wrong_type(value, kind)]
        found: Problems = None
        for check in checks:
            more = check(value)
            if more:
                found = more if found is None else [*found, *more]
        return found

    return validate


def _int_or_string(checks: list[Check]) -> Check:
    def validate(value: Any) -> Problems:
        if isinstance(value, bool) or not isinstance(value, int | str):
            if isinstance(value, float) and value.is_integer():
                return None
            return [errors.wrong_type(value, "integer,string")]
        for check in checks:
            found = check(value)
            if found:
                return found
        return None

    return validate


def object_check(
    properties: dict[str, Place], values: Place | None, required: tuple[str, ...], schema: JsonObject
) -> Check:
    plain = {name: node.plain for name, node in properties.items() if node.plain is not None}
    typed = schema.get("type") == "object"

    def validate(value: Any) -> Problems:
        if type(value) is not dict:
            return [errors.wrong_type(value, "object")] if typed else None
        found: Problems = None
        for name, item in value.items():
            if plain.get(name) is type(item):
                continue
            child = properties.get(name, values)
            if child is not None:
                more = child.validate(item)
                if more:
                    found = under(name, more, found)
        for name in required:
            if name not in value:
                found = [*(found or ()), errors.required(name)]
        return found

    return validate


def object_cleaner(
    properties: dict[str, Place], values: Place | None, defaults: tuple[tuple[str, Any], ...], *, keeps: bool
) -> Cleaner:
    leaves = frozenset(name for name, node in properties.items() if node.trivial)
    nullable = frozenset(name for name, node in properties.items() if node.nullable)

    def clean(value: Any) -> Unknown:
        if type(value) is not dict:
            return None
        for name, default in defaults:
            if value.get(name) is None and not (name in nullable and name in value):
                value[name] = copy.deepcopy(default) if isinstance(default, dict | list) else default
        found: Unknown = None
        dropped: list[str] | None = None
        for name, item in value.items():
            if name in leaves and item is not None:
                continue
            child = properties.get(name, values)
            if child is None:
                if not keeps:
                    dropped = [*(dropped or ()), name]
                    found = [*(found or ()), [name]]
            elif item is None:
                if not child.nullable:
                    dropped = [*(dropped or ()), name]
            else:
                more = child.clean(item)
                if more:
                    found = _under(name, more, found)
        for name in dropped or ():
            del value[name]
        return found

    return clean


def map_check(values: Place, *, typed: bool) -> Check:
    plain = values.plain

    def validate(value: Any) -> Problems:
        if type(value) is not dict:
            return [errors.wrong_type(value, "object")] if typed else None
        found: Problems = None
        for name, item in value.items():
            if type(item) is plain:
                continue
            more = values.validate(item)
            if more:
                found = under(name, more, found)
        return found

    return validate


def map_cleaner(values: Place) -> Cleaner:
    trivial = values.trivial
    nullable = values.nullable

    def clean(value: Any) -> Unknown:
        if type(value) is not dict:
            return None
        if not nullable and None in value.values():
            for name in [name for name, item in value.items() if item is None]:
                del value[name]
        found: Unknown = None
        if not trivial:
            for name, item in value.items():
                more = values.clean(item)
                if more:
                    found = _under(name, more, found)
        return found

    return clean


def array_check(items: Place, checks: list[Check], *, typed: bool) -> Check:
    plain = items.plain

    def validate(value: Any) -> Problems:
        if type(value) is not list:
            return [errors.wrong_type(value, "array")] if typed else None
        found: Problems = None
        for index, item in enumerate(value):
            if type(item) is plain:
                continue
            more = items.validate(item)
            if more:
                found = under(index, more, found)
        for check in checks:
            more = check(value)
            if more:
                found = [*(found or ()), *more]
        return found

    return validate


def array_cleaner(items: Place) -> Cleaner:
    if items.trivial:
        return nothing_to_clean

    def clean(value: Any) -> Unknown:
        if type(value) is not list:
            return None
        found: Unknown = None
        for index, item in enumerate(value):
            more = items.clean(item)
            if more:
                found = _under(index, more, found)
        return found

    return clean


def _under(step: Step, unknown: list[list[Step]], into: Unknown) -> list[list[Step]]:
    for steps in unknown:
        steps.append(step)
    return unknown if into is None else into + unknown


def property_count(least: int, most: int | None) -> Check:
    def check(value: Any) -> Problems:
        if not isinstance(value, dict):
            return None
        if len(value) < least:
            return [errors.invalid(len(value), f"\0 in body should have at least {least} properties")]
        if most is not None and len(value) > most:
            return [errors.too_many(len(value), most)]
        return None

    return check


def all_of(node: Place) -> Check:
    def check(value: Any) -> Problems:
        return node.validate(value)

    return check


def one_of(nodes: list[Place], words: str, most: int) -> Check:
    def check(value: Any) -> Problems:
        matching = sum(1 for node in nodes if not node.validate(value))
        return None if 1 <= matching <= most else [_no_match(words)]

    return check


def none_of(node: Place) -> Check:
    def check(value: Any) -> Problems:
        return [_no_match("the schema (not)", "must not validate")] if not node.validate(value) else None

    return check


def _no_match(words: str, verb: str = "must validate") -> Problem:
    return Problem("FieldValueInvalid", f'Invalid value: "": "\0" {verb} {words}')
