"""Who owns the fields of an object after an ordinary write: create, update, and patches that are no applies.

Neighbours: managers.py is the list, fieldsets.py its arithmetic, apply.py does the same for server-side apply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.local.apiserver.merging import fieldsets
from volcano.local.apiserver.merging.managers import UPDATE, ManagerKey, Managers

if TYPE_CHECKING:
    from collections.abc import Collection

    from volcano.api.meta import JsonObject
    from volcano.local.apiserver.merging.fieldsets import FieldSet
    from volcano.local.apiserver.merging.shapes import Shape

_NAMELESS = frozenset({"apiVersion", "kind"})
_NOBODYS = (
    *("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("selfLink", "clusterName", "managedFields"),
)
IDENTITY: FieldSet = {
    **{"f:" + name: {} for name in _NAMELESS},
    "f:metadata": {".": {}, **{"f:" + name: {} for name in _NOBODYS}},
}
"""Fields that nobody owns: they say which object this is."""


def created(
    document: JsonObject,
    empty: JsonObject,
    manager: ManagerKey,
    shape: Shape,
    now: str | None,
    ignored: Collection[str],
) -> list[JsonObject]:
    """The managers of a new object. `empty` is what an object of its kind is before anything is said about it."""
    fields, _ = fieldsets.compare({"metadata": {}, **empty}, _unmanaged(document, ignored), shape)
    return Managers({}).owning(manager, fields, manager.api_version, now).entries()


def keep_account(
    old: JsonObject, new: JsonObject, me: ManagerKey, shape: Shape, now: str, ignored: Collection[str]
) -> None:
    """Bring the managers of `new`, which `me` made of `old`, up to date in place.

    Objects without managers stay so: what nobody ever kept account of belongs to nobody. `ignored` are top-level
    fields that this endpoint leaves alone.
    """
    metadata = new["metadata"]
    sent = metadata.pop("managedFields", None)
    if me.subresource:
        sent = None
    elif isinstance(sent, list) and not any(sent):
        return  # an empty list, or a list of nothing, asks to forget
    managers = Managers.sent(sent)
    if managers.empty:
        managers = Managers.of(old["metadata"].get("managedFields"))
    if managers.empty:
        return
    entries = _updated(_unmanaged(old, ignored), _unmanaged(new, ignored), managers, me, shape, now).entries()
    if entries:
        metadata["managedFields"] = entries


def _updated(old: JsonObject, new: JsonObject, managers: Managers, me: ManagerKey, shape: Shape, now: str) -> Managers:
    changed, removed = fieldsets.compare(old, new, shape)
    if changed or removed:
        managers = managers.losing(changed, removed, keep=None)
    if changed:
        mine = fieldsets.union(managers.fields(me), changed)
        managers = managers.owning(me, mine, me.api_version, now)
    return managers.capped()


def _unmanaged(document: JsonObject, ignored: Collection[str]) -> JsonObject:
    """The part of a document that has owners."""
    part = {name: value for name, value in document.items() if name not in _NAMELESS and name not in ignored}
    part["metadata"] = {name: value for name, value in document.get("metadata", {}).items() if name not in _NOBODYS}
    return part


def key_of(manager: str, api_version: str, subresource: str) -> ManagerKey:
    """The one who does an ordinary write."""
    return ManagerKey.of(manager, UPDATE, api_version, subresource)
