"""Server-side apply: merge what a manager wants into the live object, and keep who owns which field.

Neighbours: fieldsets.py is the arithmetic of ownership, shapes.py the merge rules, managers.py the managedFields list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from volcano.api import keys
from volcano.api.meta import without_nulls
from volcano.local.apiserver.faults import ApplyConflict, BadRequest
from volcano.local.apiserver.merging import fieldsets
from volcano.local.apiserver.merging.fieldsets import FieldSet, is_granular, is_member
from volcano.local.apiserver.merging.managers import APPLY, ManagerKey, Managers, Ownership
from volcano.local.apiserver.merging.ordering import zipped
from volcano.local.apiserver.merging.ownership import IDENTITY, created, key_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from volcano.api.meta import JsonObject
    from volcano.local.apiserver.merging.shapes import Shape

__all__ = ["apply_patch"]

_KUBECTL = "kubectl"
_BEFORE_FIRST_APPLY = "before-first-apply"


def apply_patch(
    live: JsonObject | None,
    applied: JsonObject,
    manager: str,
    shape: Shape,
    *,
    force: bool,
    now: str,
    subresource: str = "",
    ignored: Collection[str] = (),
    empty: JsonObject | None = None,
) -> JsonObject:
    """The object after `manager` applied its configuration; ApplyConflict where others own fields that would change.

    `ignored` are top-level fields that this endpoint does not write ("status" on the main one); `now` is RFC 3339;
    `empty` is what an object of this kind is before anything is said about it.
    """
    if applied.get("metadata", {}).get("managedFields"):
        raise BadRequest("metadata.managedFields must be nil")
    wanted = without_nulls({key: value for key, value in applied.items() if key not in ignored})
    _check_lists(wanted, shape, "")
    version = str(applied.get("apiVersion", ""))
    me = ManagerKey.of(manager, APPLY, version, subresource)
    owned = Ownership(fieldsets.difference(fieldsets.fields_of(wanted, shape), IDENTITY), version, now)
    if live is None:
        return Managers({}).owning(me, owned.fields, version, now).written_to(wanted)
    managers = Managers.of(live.get("metadata", {}).get("managedFields"))
    if managers.empty:
        before = key_of(_BEFORE_FIRST_APPLY, str(live.get("apiVersion", "")), subresource)
        managers = Managers.of(created(_bare(live), empty or {}, before, shape, None, ignored))
    return _apply(live, wanted, me, managers, owned, shape, force=force)


def _apply(
    live: JsonObject,
    wanted: JsonObject,
    me: ManagerKey,
    managers: Managers,
    owned: Ownership,
    shape: Shape,
    *,
    force: bool,
) -> JsonObject:
    before = managers.fields(me)
    bare = _bare(live)
    merged = _merge(bare, wanted, shape)
    dropped = fieldsets.difference(before, owned.fields)
    if dropped:
        kept = fieldsets.union(fieldsets.union(owned.fields, managers.fields_of_others(me)), IDENTITY)
        merged = _prune(merged, dropped, kept, shape)
    changed, removed = fieldsets.compare(bare, merged, shape)
    conflicts = {
        key: common for key, fields in managers.others(me) if (common := fieldsets.intersection(fields, changed))
    }
    if conflicts and not force:
        conflicts = _beyond_last_applied(conflicts, bare, me, shape)
        if conflicts:
            raise _conflict(conflicts, managers)
    time = owned.time if changed or removed else managers.time(me)  # who changes nothing is not timed
    managers = managers.losing(changed, removed, keep=me).owning(me, owned.fields, owned.api_version, time)
    _renew_last_applied(merged, wanted, me)
    return managers.written_to(merged)


def _check_lists(value: Any, shape: Shape, path: str) -> None:
    """Lists with keys must name each item once; an ambiguous configuration has no owner."""
    if isinstance(value, dict) and not shape.whole:
        for name, item in value.items():
            _check_lists(item, shape.field(name), f"{path}.{name}")
    elif isinstance(value, list) and is_granular(value, shape):
        seen: set[str] = set()
        for index, (element, item) in enumerate(fieldsets.elements(value, shape)):
            missing = next((key for key in shape.keys if fieldsets.key_value(item, key, shape) is None), None)
            if missing is not None and len(shape.keys) == 1:
                raise BadRequest(
                    f"{path}: element {index}: associative list with keys has an element that omits key "
                    f'field "{missing}" (and doesn\'t have default value)'
                )
            where = path + next(fieldsets.paths({element: {}}))
            if element in seen:
                raise BadRequest(f"{path}: duplicate entries for key {where.removeprefix(path)}")
            seen.add(element)
            _check_lists(item, shape.items, where)


def _merge(live: Any, wanted: Any, shape: Shape) -> Any:
    if isinstance(wanted, dict) and isinstance(live, dict) and not shape.whole:
        merged = dict(live)
        for name, value in wanted.items():
            merged[name] = _merge(live[name], value, shape.field(name)) if name in live else value
        return merged
    if isinstance(wanted, list) and isinstance(live, list) and is_granular(wanted, shape):
        return _merge_list(live, wanted, shape)
    return wanted


def _merge_list(live: list[Any], wanted: list[Any], shape: Shape) -> list[Any]:
    theirs, mine = fieldsets.elements(live, shape), dict(fieldsets.elements(wanted, shape))
    known = fieldsets.grouped(live, shape)
    merged: list[Any] = []
    for element, place in zipped([element for element, _ in theirs], list(mine)):
        if place is not None:
            merged.append(live[place])
            continue
        before = known.get(element, ())
        merged.append(_merge(before[0], mine[element], shape.items) if len(before) == 1 else mine[element])
    return merged


def _prune(value: Any, dropped: FieldSet, kept: FieldSet, shape: Shape) -> Any:
    """`value` without the fields in `dropped`, except where something at or below them is in `kept`.

    An item of a list is its owner's: that others own fields of it does not keep it.
    """
    if isinstance(value, dict):
        result: dict[str, Any] = {}
        for name, item in value.items():
            key = "f:" + name
            if key not in dropped:
                result[name] = item
            elif key in kept:
                result[name] = _prune(item, dropped[key], kept[key], shape.field(name))
        return result
    if isinstance(value, list) and is_granular(value, shape):
        items: list[Any] = []
        for element, item in fieldsets.elements(value, shape):
            if element not in dropped:
                items.append(item)
            elif element in kept and (is_member(kept[element]) or not is_member(dropped[element])):
                items.append(_prune(item, dropped[element], kept[element], shape.items))
        return items
    return value


def _conflict(conflicts: dict[ManagerKey, FieldSet], managers: Managers) -> ApplyConflict:
    found = [(key, path) for key, fields in sorted(conflicts.items()) for path in sorted(fieldsets.paths(fields))]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {managers.describe(key)}", "field": path}
        for key, path in found
    ]
    if len(found) == 1:
        key, path = found[0]
        return ApplyConflict(f"Apply failed with 1 conflict: conflict with {managers.describe(key)}: {path}", causes)
    lines = []
    for key in sorted(conflicts):
        lines.append(f"conflicts with {managers.describe(key)}:")
        lines += [f"- {path}" for owner, path in found if owner == key]
    return ApplyConflict(f"Apply failed with {len(found)} conflicts: " + "\n".join(lines), causes)


def _beyond_last_applied(
    conflicts: dict[ManagerKey, FieldSet], live: JsonObject, me: ManagerKey, shape: Shape
) -> dict[ManagerKey, FieldSet]:
    """Conflicts left after those that come only from kubectl's own earlier, client-side apply."""
    recorded = _last_applied(live) if me.manager == _KUBECTL else None
    if recorded is None:
        return conflicts
    unchanged = fieldsets.fields_of(recorded, shape)
    changed, _ = fieldsets.compare(live, _merge(live, recorded, shape), shape)
    allowed = fieldsets.difference(unchanged, changed)
    left = {key: fieldsets.difference(fields, allowed) for key, fields in conflicts.items()}
    return {key: fields for key, fields in left.items() if fields}


def _last_applied(live: JsonObject) -> JsonObject | None:
    text = (live.get("metadata", {}).get("annotations") or {}).get(keys.LAST_APPLIED)
    if not isinstance(text, str):
        return None
    try:
        return msgspec.json.decode(text, type=dict)
    except msgspec.DecodeError:
        return None


def _renew_last_applied(merged: JsonObject, wanted: JsonObject, me: ManagerKey) -> None:
    """Keep the record that client-side apply goes by, so that both ways of applying can be mixed."""
    if me.manager != _KUBECTL or _last_applied(merged) is None:
        return
    annotations = dict(merged["metadata"]["annotations"])
    annotations[keys.LAST_APPLIED] = msgspec.json.encode(wanted).decode() + "\n"
    merged["metadata"] = {**merged["metadata"], "annotations": annotations}


def _bare(document: JsonObject) -> JsonObject:
    """`document` without managedFields."""
    metadata = document.get("metadata", {})
    if "managedFields" not in metadata:
        return document
    return {**document, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
