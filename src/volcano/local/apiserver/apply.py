"""Server-side apply: merge what a manager wants into the live object, and keep who owns which field.

Neighbours: fieldsets.py is the arithmetic of ownership, shapes.py the merge rules, managers.py the managedFields list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from volcano.local.apiserver import fieldsets
from volcano.local.apiserver.faults import ApplyConflict, BadRequest
from volcano.local.apiserver.fieldsets import FieldSet, is_granular
from volcano.local.apiserver.managers import APPLY, UPDATE, ManagerKey, Managers
from volcano.local.apiserver.ordering import weave

if TYPE_CHECKING:
    from collections.abc import Collection

    from volcano.api.meta import JsonObject
    from volcano.local.apiserver.shapes import Shape

__all__ = ["apply_patch", "update_managed_fields"]

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL = "kubectl"
_BEFORE_FIRST_APPLY = "before-first-apply"
_IDENTITY: FieldSet = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        **{
            "f:" + name: {}
            for name in (
                *("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
                *("selfLink", "managedFields", "generateName", "deletionTimestamp", "deletionGracePeriodSeconds"),
            )
        },
    },
}
"""Fields that nobody owns: they say which object this is."""


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
) -> JsonObject:
    """The object after `manager` applied its configuration; ApplyConflict where others own fields that would change.

    `ignored` are top-level fields that this endpoint does not write ("status" on the main one); `now` is RFC 3339.
    """
    _check_applied(applied, manager)
    wanted = _without_nulls({key: value for key, value in applied.items() if key not in ignored})
    _check_lists(wanted, shape, "")
    me = ManagerKey(manager, APPLY, str(applied.get("apiVersion", "")), subresource)
    owned = fieldsets.difference(fieldsets.fields_of(wanted, shape), _IDENTITY)
    if live is None:
        return Managers({}).owning(me, owned, now).written_to(wanted)
    managers = Managers.of(live)
    if managers.empty:
        managers = _first_owners(live, me, shape, now)
    return _apply(live, wanted, me, managers, owned, shape, force=force, now=now)


def update_managed_fields(
    old: JsonObject | None,
    new: JsonObject,
    manager: str,
    shape: Shape,
    *,
    now: str,
    subresource: str = "",
    ignored: Collection[str] = (),
) -> JsonObject:
    """`new` with ownership brought up to date after an ordinary write; `ignored` as for an apply.

    Objects that nobody has ever applied carry no ownership: their writes cost one look-up. The first apply gives
    all that is there to the manager "before-first-apply", as Kubernetes does for objects of unknown history.
    """
    sent = new.get("metadata", {}).get("managedFields")
    known = None if old is None else old.get("metadata", {}).get("managedFields")
    if not known:
        return _without_managers(new) if sent is not None else new
    assert old is not None
    if sent is not None and all(not entry for entry in sent) and sent:
        return _without_managers(new)
    managers = Managers.of(new) if sent else Managers.of(old)
    before, after = (
        {key: value for key, value in _bare(document).items() if key not in ignored} for document in (old, new)
    )
    changed, removed = fieldsets.compare(before, after, shape)
    changed, removed = (fieldsets.difference(fields, _IDENTITY) for fields in (changed, removed))
    if changed or removed:
        me = ManagerKey(manager, UPDATE, str(new.get("apiVersion", "")), subresource)
        managers = managers.losing(changed, removed, keep=me)
        mine = fieldsets.union(fieldsets.without(managers.fields(me), removed), changed)
        managers = managers.owning(me, mine, now)
    return managers.written_to(new)


def _apply(
    live: JsonObject,
    wanted: JsonObject,
    me: ManagerKey,
    managers: Managers,
    owned: FieldSet,
    shape: Shape,
    *,
    force: bool,
    now: str,
) -> JsonObject:
    before = managers.fields(me)
    bare = _bare(live)
    merged = _merge(bare, wanted, shape)
    dropped = fieldsets.difference(before, owned)
    if dropped:
        kept = fieldsets.union(fieldsets.union(owned, managers.fields_of_others(me)), _IDENTITY)
        merged = _prune(merged, dropped, kept, shape)
    changed, removed = fieldsets.compare(bare, merged, shape)
    conflicts = {
        key: common for key, fields in managers.others(me) if (common := fieldsets.intersection(fields, changed))
    }
    if conflicts and not force:
        conflicts = _beyond_last_applied(conflicts, bare, me, shape)
        if conflicts:
            raise _conflict(conflicts, managers)
    managers = managers.losing(changed, removed, keep=me).owning(me, owned, now)
    _renew_last_applied(merged, wanted, me)
    return managers.written_to(merged)


def _check_applied(applied: JsonObject, manager: str) -> None:
    if not manager:
        raise BadRequest(
            "PatchOptions.meta.k8s.io is invalid: fieldManager: Required value: is required for apply patch"
        )
    if not isinstance(applied.get("metadata", {}), dict):
        raise BadRequest("metadata: must be an object")
    if applied.get("metadata", {}).get("managedFields"):
        raise BadRequest("metadata.managedFields must be nil")


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


def _first_owners(live: JsonObject, me: ManagerKey, shape: Shape, now: str) -> Managers:
    """Ownership of an object that was never applied: kubectl's record is kubectl's, the rest has one owner."""
    everything = fieldsets.difference(fieldsets.fields_of(_bare(live), shape), _IDENTITY)
    managers = Managers({})
    recorded = _last_applied(live) if me.manager == _KUBECTL else None
    if recorded is not None:
        mine = fieldsets.intersection(
            everything, fieldsets.difference(fieldsets.fields_of(_without_nulls(recorded), shape), _IDENTITY)
        )
        everything = fieldsets.difference(everything, mine)
        managers = managers.owning(me, mine, now)
    rest = ManagerKey(_BEFORE_FIRST_APPLY, UPDATE, str(live.get("apiVersion", "")), "")
    return managers.owning(rest, everything, now)


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
    theirs, mine = dict(fieldsets.elements(live, shape)), fieldsets.elements(wanted, shape)
    merged = dict(theirs)
    for element, item in mine:
        merged[element] = _merge(theirs[element], item, shape.items) if element in theirs else item
    order = weave(merged, [element for element, _ in mine], list(theirs), str)
    return [merged[element] for element in order]


def _prune(value: Any, dropped: FieldSet, kept: FieldSet, shape: Shape) -> Any:
    """`value` without the fields in `dropped`, except where something at or below them is in `kept`."""
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
            elif element in kept:
                items.append(_prune(item, dropped[element], kept[element], shape.items))
        return items
    return value


def _conflict(conflicts: dict[ManagerKey, FieldSet], managers: Managers) -> ApplyConflict:
    found = [(key, path) for key, fields in sorted(conflicts.items()) for path in fieldsets.paths(fields)]
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
    text = (live.get("metadata", {}).get("annotations") or {}).get(_LAST_APPLIED)
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
    annotations[_LAST_APPLIED] = msgspec.json.encode(wanted).decode() + "\n"
    merged["metadata"] = {**merged["metadata"], "annotations": annotations}


def _bare(document: JsonObject) -> JsonObject:
    """`document` without managedFields."""
    metadata = document.get("metadata", {})
    if "managedFields" not in metadata:
        return document
    return {**document, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


_without_managers = _bare


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
