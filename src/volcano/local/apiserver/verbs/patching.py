"""The four kinds of PATCH behind one shape, and the bookkeeping of field managers.

The algorithms are pure and live in patch.py, strategic.py and apply.py; this picks one by media type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from volcano.api.meta import JsonObject
from volcano.local.apiserver import status
from volcano.local.apiserver.merging.apply import apply_patch
from volcano.local.apiserver.merging.ownership import created, keep_account, key_of
from volcano.local.apiserver.merging.patch import json_patch, merge_patch
from volcano.local.apiserver.merging.shapes import shape_of
from volcano.local.apiserver.merging.strategic import strategic_patch
from volcano.local.apiserver.wire import bodies

if TYPE_CHECKING:
    from collections.abc import Callable

    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.catalog.registry import ResourceInfo
    from volcano.local.apiserver.merging.shapes import Shape

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Subject(NamedTuple):
    """What is patched: objects of a resource, or the form of them that a subresource shows."""

    api_version: str
    kind: str
    shape: Shape
    empty: JsonObject
    """An object of the kind of which nothing has been said."""
    merges_strategically: bool = True


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
        bodies.check_depth(changed)
        return changed


class MergePatch:
    creates = False

    def __init__(self, patch: JsonObject) -> None:
        self._patch = patch

    def apply(self, document: JsonObject | None, now: str) -> JsonObject:
        changed: JsonObject = merge_patch(document, self._patch)
        return changed


class StrategicPatch:
    creates = False

    def __init__(self, patch: JsonObject, shape: Shape) -> None:
        self._patch = patch
        self._shape = shape

    def apply(self, document: JsonObject | None, now: str) -> JsonObject:
        changed: JsonObject = strategic_patch(document, self._patch, self._shape)
        return changed


class ApplyPatch:
    creates = True

    def __init__(self, call: Call, applied: JsonObject, subject: Subject) -> None:
        self._call = call
        self.applied = applied
        self._subject = subject
        self._force = call.request.flag("force")

    def apply(self, document: JsonObject | None, now: str) -> JsonObject:
        call = self._call
        return apply_patch(
            document,
            self.applied,
            call.field_manager,
            self._subject.shape,
            force=self._force,
            now=now,
            subresource=call.subresource,
            ignored=_not_written(call),
            empty=self._subject.empty,
        )


def subject_of(resource: ResourceInfo, empty: JsonObject) -> Subject:
    """The objects of a resource as what is patched."""
    return Subject(resource.api_version, resource.kind, shape_of(resource), empty, not resource.custom)


def read(call: Call, subject: Subject) -> Patch:
    """The patch in the body of a request."""
    kind, body = bodies.media_type(call.request), call.request.body
    if kind == APPLY_PATCH:
        if not call.field_manager:
            text = "Required value: is required for apply patch"
            raise status.invalid_option("PatchOptions", status.cause("fieldManager", text, "FieldValueRequired"))
        return ApplyPatch(call, _configuration(subject, _read(bodies.read_yaml, body, {})), subject)
    if call.request.param("force") is not None:
        text = "Forbidden: may not be specified for non-apply patch"
        raise status.invalid_option("PatchOptions", status.cause("force", text, "FieldValueForbidden"))
    if kind == JSON_PATCH:
        return JsonPatch(_read(bodies.read_json, body, []))
    if kind == MERGE_PATCH:
        patch = bodies.read_json(body)
        if not isinstance(patch, dict):
            raise status.bad_request("Invalid JSON Patch: a merge patch is an object with the fields to change")
        return MergePatch(patch)
    if kind == STRATEGIC_PATCH and subject.merges_strategically:
        return StrategicPatch(_read(bodies.read_json, body, {}), subject.shape)
    kinds = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    raise status.unsupported_media_type(kind, (*kinds, STRATEGIC_PATCH) if subject.merges_strategically else kinds)


def _read(read: Callable[[bytes], Any], body: bytes, nothing: Any) -> Any:
    """The document in a body; null says nothing."""
    document = read(body)
    return nothing if document is None else document


def track_new(call: Call, new: JsonObject, empty: JsonObject, now: str) -> None:
    """Note who makes an object, before admission adds what nobody owns."""
    resource = call.resource
    me = key_of(call.manager, resource.api_version, call.subresource)
    entries = created(new, empty, me, shape_of(resource), now, _not_written(call))
    if entries:
        new["metadata"]["managedFields"] = entries


def track(call: Call, old: JsonObject, new: JsonObject, now: str) -> None:
    """Keep managedFields true for a write that is not an apply."""
    resource = call.resource
    me = key_of(call.manager, resource.api_version, call.subresource)
    keep_account(old, new, me, shape_of(resource), now, _not_written(call))


def _configuration(subject: Subject, applied: Any) -> JsonObject:
    """The object that somebody applies, which must be the one that the URL names."""
    if not isinstance(applied, dict) or not isinstance(applied.setdefault("metadata", {}), dict):
        raise status.bad_request("an applied configuration is an object with apiVersion, kind and metadata")
    version, kind = applied.get("apiVersion") or "", applied.get("kind") or ""
    if (version, kind) != (subject.api_version, subject.kind):
        written = version if "/" in str(version) else f"/{version}"
        raise status.bad_request(f"invalid object type: {written}, Kind={kind}")
    return applied


def _not_written(call: Call) -> tuple[str, ...]:
    """Top-level fields that the call's endpoint leaves alone."""
    if call.subresource == "status":
        return ("spec", "data")
    return ("status",) if call.resource.has_status else ()
