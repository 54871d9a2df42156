"""Statuses of documents: written as differences, and read back before the watch shows them.

Used by the controllers whose objects stay plain documents; job/perform.py has its own, on typed jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from volcano.api.meta import JsonObject, ObjectMeta
from volcano.kube.codec import head_of

if TYPE_CHECKING:
    from volcano.api.resources import Resource
    from volcano.kube.client import Client


class Statuses:
    """Writes the statuses of one kind of object; `newest` is an object as the server last returned or showed it."""

    def __init__(self, client: Client, resource: Resource[JsonObject]) -> None:
        self._client = client
        self._resource = resource
        self._written: dict[str, JsonObject] = {}

    def newest(self, key: str, seen: JsonObject) -> JsonObject:
        written = self._written.get(key)
        if written is None:
            return seen
        if is_newer(head_of(written), head_of(seen)):
            return written
        del self._written[key]
        return seen

    def forget(self, key: str) -> None:
        self._written.pop(key, None)

    async def write(self, key: str, document: JsonObject, status: JsonObject) -> bool:
        """Merge what differs into the status; False when nothing does."""
        change = difference(document.get("status") or {}, status)
        if not change:
            return False
        meta = document["metadata"]
        body = {"metadata": {"uid": meta["uid"]}, "status": change}
        self._written[key] = await self._client.patch(
            self._resource, meta["name"], body, meta.get("namespace"), subresource="status"
        )
        return True


def key_of(document: JsonObject) -> str:
    """`namespace/name`, as informers and queues have it."""
    meta = document["metadata"]
    return f"{meta['namespace']}/{meta['name']}"


def is_newer(one: ObjectMeta, other: ObjectMeta) -> bool:
    """Of two views of the same object: by resource version, where versions are numbers (as Kubernetes' are)."""
    first, second = one.resource_version, other.resource_version
    return one.uid == other.uid and first.isdecimal() and second.isdecimal() and int(first) > int(second)


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> JsonObject:
    """The merge patch that makes `new` of `old`."""
    patch: JsonObject = dict.fromkeys(old.keys() - new.keys())
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := difference(before, value):
                patch[key] = inner
        elif value != before:
            patch[key] = value
    return patch
