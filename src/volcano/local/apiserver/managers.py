"""metadata.managedFields: who owns which fields of an object, by manager, operation, API version and subresource.

apply.py changes it; fieldsets.py is its arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from volcano.local.apiserver import fieldsets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.api.meta import JsonObject
    from volcano.local.apiserver.fieldsets import FieldSet

APPLY = "Apply"
UPDATE = "Update"


class ManagerKey(NamedTuple):
    manager: str
    operation: str
    api_version: str
    subresource: str


@dataclass(frozen=True, slots=True)
class Ownership:
    fields: FieldSet
    time: str | None


class Managers:
    """An immutable view of an object's managers; changes give a new one."""

    def __init__(self, entries: dict[ManagerKey, Ownership]) -> None:
        self._entries = entries

    @classmethod
    def of(cls, document: JsonObject) -> Managers:
        """The managers written in a document; entries that cannot be read own nothing."""
        entries: dict[ManagerKey, Ownership] = {}
        for entry in document.get("metadata", {}).get("managedFields") or ():
            fields = entry.get("fieldsV1")
            if isinstance(fields, dict) and fields:
                words = (entry.get(name) or "" for name in ("manager", "operation", "apiVersion", "subresource"))
                entries[ManagerKey(*words)] = Ownership(fields, entry.get("time"))
        return cls(entries)

    @property
    def empty(self) -> bool:
        return not self._entries

    def fields(self, key: ManagerKey) -> FieldSet:
        entry = self._entries.get(key)
        return {} if entry is None else entry.fields

    def others(self, key: ManagerKey) -> Iterator[tuple[ManagerKey, FieldSet]]:
        return ((other, entry.fields) for other, entry in self._entries.items() if other != key)

    def fields_of_others(self, key: ManagerKey) -> FieldSet:
        result: FieldSet = {}
        for _, fields in self.others(key):
            result = fieldsets.union(result, fields)
        return result

    def owning(self, key: ManagerKey, fields: FieldSet, now: str) -> Managers:
        """As before, with exactly `fields` owned by `key`; its time moves only when that is news."""
        entries = {other: entry for other, entry in self._entries.items() if other != key}
        if fields:
            known = self._entries.get(key)
            time = known.time if known is not None and known.fields == fields else now
            entries[key] = Ownership(fields, time)
        return Managers(entries)

    def losing(self, changed: FieldSet, removed: FieldSet, *, keep: ManagerKey) -> Managers:
        """As before, with fields that `keep` changed or removed taken from everybody else."""
        entries: dict[ManagerKey, Ownership] = {}
        for key, entry in self._entries.items():
            left = entry.fields
            if key != keep:
                left = fieldsets.without(fieldsets.difference(left, changed), removed)
            if left:
                entries[key] = Ownership(left, entry.time)
        return Managers(entries)

    def written_to(self, document: JsonObject) -> JsonObject:
        """`document` with this list as its metadata.managedFields."""
        ordered = sorted(self._entries.items(), key=lambda item: (item[0].operation, item[1].time or "", item[0]))
        metadata = {key: value for key, value in document.get("metadata", {}).items() if key != "managedFields"}
        if ordered:
            metadata["managedFields"] = [_entry(key, entry) for key, entry in ordered]
        return {**document, "metadata": metadata}

    def describe(self, key: ManagerKey) -> str:
        """How an error names a manager."""
        text = f'"{key.manager}"'
        if key.subresource:
            text += f' with subresource "{key.subresource}"'
        if key.operation == UPDATE:
            text += f" using {key.api_version}"
            time = self._entries[key].time
            text += f" at {time}" if time else ""
        return text


def _entry(key: ManagerKey, owned: Ownership) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "manager": key.manager,
        "operation": key.operation,
        "apiVersion": key.api_version,
        "time": owned.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": owned.fields,
    }
    if key.subresource:
        entry["subresource"] = key.subresource
    return entry
