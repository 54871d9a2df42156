"""Strategic merge patch: a merge patch that knows which lists are maps or sets, and takes directives.

Neighbours: shapes.py tells merge keys; patch.py is the plain merge for custom resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.local.apiserver.faults import BadRequest
from volcano.local.apiserver.merging.ordering import weave

if TYPE_CHECKING:
    from collections.abc import Hashable

    from volcano.local.apiserver.merging.ordering import Identity
    from volcano.local.apiserver.merging.shapes import Shape

__all__ = ["strategic_patch"]

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE_VALUES = "$deleteFromPrimitiveList/"


def strategic_patch(document: Any, patch: Any, shape: Shape) -> Any:
    """`document` with `patch` merged in; unchanged parts are shared with `document`."""
    if not isinstance(patch, dict):
        raise BadRequest("error decoding patch: a strategic merge patch is an object")
    return _merge_object(document if isinstance(document, dict) else {}, patch, shape)


def _merge_object(current: dict[str, Any], patch: dict[str, Any], shape: Shape) -> dict[str, Any]:
    directive = patch.get(_PATCH)
    if directive == "delete":
        return {}
    if directive == "replace":
        return _merge_object({}, {key: value for key, value in patch.items() if key != _PATCH}, shape)
    if directive not in (None, "merge") and current:  # where nothing is, directives are left out unread
        raise BadRequest(f"unknown patch type {directive!r}: {_PATCH} is one of delete, merge, replace")
    merged = _retained(current, patch)
    for key, value in patch.items():
        if key.startswith(_DELETE_VALUES):
            _delete_values(merged, key.removeprefix(_DELETE_VALUES), value)
    for key, value in patch.items():
        if key in (_PATCH, _RETAIN) or key.startswith((_DELETE_VALUES, _ORDER)):
            continue
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge_value(merged.get(key), value, shape.field(key), key)
    for key, value in patch.items():
        if key.startswith(_ORDER):
            _reorder(merged, current, key.removeprefix(_ORDER), value, shape)
    return merged


def _merge_value(current: Any, value: Any, shape: Shape, name: str) -> Any:
    if isinstance(value, dict):
        return _merge_object(current if isinstance(current, dict) else {}, value, shape)
    if isinstance(value, list):
        return _merge_list(current if isinstance(current, list) else [], value, shape, name)
    return value


def _merge_list(current: list[Any], patch: list[Any], shape: Shape, name: str) -> list[Any]:
    if not any(isinstance(item, (dict, list)) for item in (*patch, *current)):
        return _merge_values(current, patch) if shape.merges_values else patch
    directives = [item for item in patch if isinstance(item, dict) and _PATCH in item]
    plain = [item for item in patch if not (isinstance(item, dict) and item.get(_PATCH) in ("delete", "replace"))]
    if not shape.merge_key or any(item[_PATCH] == "replace" for item in directives):
        return [_merge_value(None, item, shape.items, name) for item in plain]
    return _merge_map_list(current, plain, [item for item in directives if item[_PATCH] == "delete"], shape, name)


def _merge_values(current: list[Any], patch: list[Any]) -> list[Any]:
    merged = list(dict.fromkeys([*current, *patch]))
    return weave(merged, patch, current, lambda item: item)


def _merge_map_list(current: list[Any], patch: list[Any], deletions: list[Any], shape: Shape, name: str) -> list[Any]:
    identity = _identity(shape.merge_key, name)
    deleted = {identity(item) for item in deletions}
    merged = {identity(item): item for item in current}
    remaining = {key: item for key, item in merged.items() if key not in deleted}
    for item in patch:
        key = identity(item)
        remaining[key] = _merge_object(remaining.get(key, {}), item, shape.items)
    return weave(list(remaining.values()), patch, current, identity)


def _identity(merge_key: str, name: str) -> Identity:
    def identity(item: Any) -> Hashable:
        value = item.get(merge_key) if isinstance(item, dict) else None
        if isinstance(value, (str, int, float)):
            return value
        raise BadRequest(f"an item of list {name!r} in the patch or the object has no {merge_key!r}, the list's key")

    return identity


def _reorder(merged: dict[str, Any], current: dict[str, Any], key: str, order: Any, shape: Shape) -> None:
    items = merged.get(key)
    if not isinstance(order, list):
        raise BadRequest(f"{_ORDER}{key} in the patch must be a list")
    if not isinstance(items, list):
        return
    merge_key = shape.field(key).merge_key
    identity: Identity = _identity(merge_key, key) if merge_key else _plain
    before = current.get(key)
    merged[key] = weave(items, order, before if isinstance(before, list) else [], identity)


def _plain(item: Any) -> Hashable:
    if isinstance(item, (dict, list)):
        raise BadRequest(f"{_ORDER} in the patch orders a list of objects that has no merge key")
    value: Hashable = item
    return value


def _retained(current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    kept = patch.get(_RETAIN)
    if kept is None:
        return dict(current)
    if not isinstance(kept, list):
        raise BadRequest(f"{_RETAIN} in the patch must be a list of field names")
    stray = [key for key in patch if not key.startswith("$") and key not in kept]
    if stray:
        raise BadRequest(
            f"{_RETAIN} in the patch must name every field that the patch sets: {', '.join(stray)} missing"
        )
    return {key: value for key, value in current.items() if key in kept}


def _delete_values(merged: dict[str, Any], key: str, values: Any) -> None:
    if not isinstance(values, list):
        raise BadRequest(f"{_DELETE_VALUES}{key} in the patch must be a list")
    items = merged.get(key)
    if isinstance(items, list):
        merged[key] = [item for item in items if item not in values]
