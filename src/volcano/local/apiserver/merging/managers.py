"""metadata.managedFields: who owns which fields of an object, by manager, operation, API version and subresource.

ownership.py and apply.py change it; fieldsets.py is its arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from volcano.local.apiserver.merging import fieldsets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.api.meta import JsonObject
    from volcano.local.apiserver.merging.fieldsets import FieldSet

APPLY = "Apply"
UPDATE = "Update"
MOST_UPDATERS = 10
_ANCIENT = "ancient-changes"


class ManagerKey(NamedTuple):
    """Who writes how. Appliers are the same in every API version, updaters are not."""

    manager: str
    operation: str
    api_version: str
    subresource: str

    @classmethod
    def of(cls, manager: str, operation: str, api_version: str, subresource: str) -> ManagerKey:
        return cls(manager, operation, "" if operation == APPLY else api_version, subresource)


@dataclass(frozen=True, slots=True)
class Ownership:
    fields: FieldSet
    api_version: str
    time: str | None


class Managers:
    """An immutable view of an object's managers; changes give a new one."""

    def __init__(self, entries: dict[ManagerKey, Ownership]) -> None:
        self._entries = entries

    @classmethod
    def of(cls, entries: list[JsonObject] | None) -> Managers:
        """The managers written in an object's metadata; entries that cannot be read own nothing."""
        found: dict[ManagerKey, Ownership] = {}
        for entry in entries or ():
            fields = entry.get("fieldsV1")
            if isinstance(fields, dict) and fields:
                words = (entry.get(name) or "" for name in ("manager", "operation", "apiVersion", "subresource"))
                found[ManagerKey.of(*words)] = Ownership(fields, entry.get("apiVersion") or "", entry.get("time"))
        return cls(found)

    @classmethod
    def sent(cls, entries: Any) -> Managers:
        """The managers that a client has written; none if there is one that cannot be read."""
        if not isinstance(entries, list) or not all(_is_readable(entry) for entry in entries):
            return cls({})
        return cls.of(entries)

    @property
    def empty(self) -> bool:
        return not self._entries

    def items(self) -> Iterator[tuple[ManagerKey, FieldSet]]:
        return ((key, entry.fields) for key, entry in self._entries.items())

    def fields(self, key: ManagerKey) -> FieldSet:
        entry = self._entries.get(key)
        return {} if entry is None else entry.fields

    def time(self, key: ManagerKey) -> str | None:
        entry = self._entries.get(key)
        return None if entry is None else entry.time

    def others(self, key: ManagerKey) -> Iterator[tuple[ManagerKey, FieldSet]]:
        return ((other, entry.fields) for other, entry in self._entries.items() if other != key)

    def fields_of_others(self, key: ManagerKey) -> FieldSet:
        result: FieldSet = {}
        for _, fields in self.others(key):
            result = fieldsets.union(result, fields)
        return result

    def owning(self, key: ManagerKey, fields: FieldSet, api_version: str, now: str | None) -> Managers:
        """As before, with exactly `fields` owned by `key` since `now`."""
        entries = {other: entry for other, entry in self._entries.items() if other != key}
        if fields:
            entries[key] = Ownership(fields, api_version, now)
        return Managers(entries)

    def losing(self, changed: FieldSet, removed: FieldSet, *, keep: ManagerKey | None) -> Managers:
        """As before, with fields that `keep` changed or removed taken from everybody else."""
        entries: dict[ManagerKey, Ownership] = {}
        for key, entry in self._entries.items():
            left = entry.fields
            if key != keep:
                left = fieldsets.without(fieldsets.difference(left, changed), removed)
            if left:
                entries[key] = Ownership(left, entry.api_version, entry.time)
        return Managers(entries)

    def without(self, key: ManagerKey, fields: FieldSet) -> Managers:
        """As before, with `fields` taken from `key`."""
        entry = self._entries[key]
        return self.owning(key, fieldsets.difference(entry.fields, fields), entry.api_version, entry.time)

    def capped(self) -> Managers:
        """At most so many updaters: the oldest of one API version become one entry."""
        updaters = sorted(
            (key for key in self._entries if key.operation == UPDATE),
            key=lambda key: (self._entries[key].time or "", key),
        )
        excess = len(updaters) - MOST_UPDATERS
        entries = dict(self._entries)
        first: dict[str, ManagerKey] = {}
        for key in updaters:
            if excess <= 0:
                break
            bucket = ManagerKey(_ANCIENT, UPDATE, key.api_version, "")
            if key.api_version in first:
                known = entries.get(bucket) or entries.pop(first[key.api_version])
                old = entries.pop(key)
                entries[bucket] = Ownership(fieldsets.union(old.fields, known.fields), key.api_version, old.time)
                excess -= 1
            else:
                first[key.api_version] = key
        return Managers(entries)

    def entries(self) -> list[JsonObject]:
        """The list as it is written: appliers first, then by time."""
        if len(self._entries) == 1:
            return [_entry(key, owned) for key, owned in self._entries.items()]
        ordered = sorted(self._entries.items(), key=lambda item: (item[0].operation, item[1].time or "", item[0]))
        return [_entry(key, owned) for key, owned in ordered]

    def written_to(self, document: JsonObject) -> JsonObject:
        """`document` with this list as its metadata.managedFields."""
        metadata = {key: value for key, value in document.get("metadata", {}).items() if key != "managedFields"}
        if self._entries:
            metadata["managedFields"] = self.entries()
        return {**document, "metadata": metadata}

    @staticmethod
    def describe(key: ManagerKey) -> str:
        """How an error names a manager."""
        text = f'"{key.manager}"'
        if key.subresource:
            text += f' with subresource "{key.subresource}"'
        if key.operation == UPDATE:
            text += f" using {key.api_version}"
        return text


def differ_in_times_only(new: JsonObject, old: JsonObject) -> bool:
    """Whether two states of an object are the same but for when their fields were written."""
    theirs, ours = old["metadata"].get("managedFields"), new["metadata"].get("managedFields")
    if not theirs or not ours or len(theirs) != len(ours):
        return False
    if any(_timeless(one) != _timeless(other) for one, other in zip(theirs, ours, strict=True)):
        return False
    return _unmanaged(new) == _unmanaged(old)


def _is_readable(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.get("operation") not in (APPLY, UPDATE) or not entry.get("apiVersion"):
        return False
    texts = all(isinstance(entry.get(name, ""), str) for name in ("manager", "subresource", "apiVersion"))
    return texts and entry.get("fieldsType") == "FieldsV1" and _is_field_set(entry.get("fieldsV1"))


def _is_field_set(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_element(key) and _is_field_set(below) for key, below in value.items())


def _is_element(key: str) -> bool:
    """A step of a path: a field, an item by its keys, by its value or by its place."""
    form, text = key[:2], key[2:]
    if key == "." or form == "f:":
        return True
    if form not in ("k:", "v:", "i:"):
        return False
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(found, dict) if form == "k:" else form == "v:" or isinstance(found, int)


def _timeless(entry: JsonObject) -> JsonObject:
    return {key: value for key, value in entry.items() if key != "time"}


def _unmanaged(document: JsonObject) -> JsonObject:
    return document | {"metadata": {k: v for k, v in document["metadata"].items() if k != "managedFields"}}


def _entry(key: ManagerKey, owned: Ownership) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "manager": key.manager,
        "operation": key.operation,
        "apiVersion": owned.api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": owned.fields,
    }
    if owned.time:
        entry["time"] = owned.time
    if key.subresource:
        entry["subresource"] = key.subresource
    return entry
