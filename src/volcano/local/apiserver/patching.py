"""The four kinds of PATCH behind one shape, and the bookkeeping of field managers.

The algorithms are pure and live in patch.py, strategic.py and apply.py; this picks one by media type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from volcano.local.apiserver import bodies, status
from volcano.local.apiserver.patch import json_patch, merge_patch

if TYPE_CHECKING:
    from volcano.local.apiserver.call import Call

JsonObject = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Patch(Protocol):
    """A change that can be tried against any state of the object."""

    creates: bool  # server-side apply makes the object when there is none

    def apply(self, document: JsonObject | None, now: str) -> JsonObject: ...


class JsonPatch:
    creates = False

    def __init__(self, operations: Any) -> None:
        self._operations = operations

    def apply(self, document: JsonObject | None, now: str) -> JsonObject:
        changed: JsonObject = json_patch(document, self._operations)
        return changed


class MergePatch:
    creates = False

    def __init__(self, patch: JsonObject) -> None:
        self._patch = patch

    def apply(self, document: JsonObject | None, now: str) -> JsonObject:
        changed: JsonObject = merge_patch(document, self._patch)
        return changed


def read(call: Call) -> Patch:
    """The patch in the body of a request."""
    kind, body = bodies.media_type(call.request), call.request.body
    if kind == JSON_PATCH:
        return JsonPatch(bodies.read_json(body))
    if kind == MERGE_PATCH:
        patch = bodies.read_json(body)
        if not isinstance(patch, dict):
            raise status.bad_request("a merge patch is an object with the fields to change")
        return MergePatch(patch)
    raise status.unsupported_media_type(kind, (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH))


def track(call: Call, old: JsonObject, new: JsonObject, now: str) -> None:
    """Keep managedFields true for a write that is not an apply.

    Objects that nobody ever applied carry no managedFields; the first apply takes what it finds as
    "before-first-apply", as Kubernetes does with objects from before it knew about managers.
    """
    del call, now
    tracked = old["metadata"].get("managedFields")
    if tracked:
        new["metadata"]["managedFields"] = tracked
    else:
        new["metadata"].pop("managedFields", None)
