"""Checks of lists: size, sets without repeats, lists that are maps by their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.api.schema import errors
from volcano.api.schema.errors import Problems

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.api.schema.scalars import Check


def list_checks(schema: JsonObject) -> list[Check]:
    found: list[Check] = []
    if schema.get("minItems"):
        found.append(_min_items(schema["minItems"]))
    if "maxItems" in schema:
        found.append(_max_items(schema["maxItems"]))
    list_type = schema.get("x-kubernetes-list-type")
    if list_type == "map":
        found.append(_unique_keys(tuple(schema.get("x-kubernetes-list-map-keys", ()))))
    elif list_type == "set" or schema.get("uniqueItems"):
        found.append(_unique_items)
    return found


def _min_items(limit: int) -> Check:
    def check(value: list[Any]) -> Problems:
        if len(value) >= limit:
            return None
        return [errors.invalid(len(value), f"\0 in body should have at least {limit} items")]

    return check


def _max_items(limit: int) -> Check:
    def check(value: list[Any]) -> Problems:
        return [errors.too_many(len(value), limit)] if len(value) > limit else None

    return check


def _unique_keys(names: tuple[str, ...]) -> Check:
    def check(value: list[Any]) -> Problems:
        if len(value) < 2:
            return None
        seen: set[tuple[str, ...]] = set()
        found: Problems = None
        for index, item in enumerate(value):
            if not isinstance(item, dict):
                continue
            key = tuple(repr(item.get(name)) for name in names)
            if key in seen:
                shown = {name: item[name] for name in names if name in item}
                found = [*(found or ()), errors.duplicate(shown, index)]
            seen.add(key)
        return found

    return check


def _unique_items(value: list[Any]) -> Problems:
    if len(value) < 2:
        return None
    seen: set[str] = set()
    found: Problems = None
    for index, item in enumerate(value):
        key = f"{type(item).__name__}:{errors.shown(item)}"
        if key in seen:
            found = [*(found or ()), errors.duplicate(item, index)]
        seen.add(key)
    return found
