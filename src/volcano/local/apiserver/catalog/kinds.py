"""The schema of every kind: pruning, defaults and types, unknown and repeated fields.

The schemas themselves come from `volcano.api` and from CustomResourceDefinitions; they are compiled when first needed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from volcano.api import builtin_schemas, crds, schema
from volcano.api.meta import JsonObject
from volcano.local.apiserver import status
from volcano.local.apiserver.wire import bodies
from volcano.local.apiserver.wire.canonical import canon_of, tidy_metadata

if TYPE_CHECKING:
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.catalog.registry import ResourceInfo
    from volcano.local.apiserver.faults import Cause
    from volcano.local.apiserver.wire.canonical import Canon

_JSON_OBJECTS = (bodies.JSON, "application/merge-patch+json", "application/strategic-merge-patch+json")


class Kinds:
    """Compiled schemas, by resource."""

    def __init__(self) -> None:
        self._compiled: dict[ResourceInfo, schema.Compiled | None] = {}
        self._canons: dict[ResourceInfo, Canon | None] = {}
        self._empty: dict[ResourceInfo, JsonObject] = {}
        self._requests: dict[tuple[str, str, str], schema.Compiled | None] = {}

    def clean(self, call: Call, document: JsonObject, *, written: bytes = b"") -> None:
        """Prune and default `document`; complain about unknown fields, and about repeated ones in `written`."""
        compiled = self._of(call.resource)
        unknown = compiled.clean(document) if compiled is not None else []
        if call.field_validation == "Ignore":
            return
        repeated = _repeated_fields(written) if written else []
        if not unknown and not repeated:
            return
        if call.field_validation == "Strict":
            raise _not_strict(call, schema.strict_message(unknown, repeated))
        call.warnings += [f'unknown field "{path}"' for path in unknown]
        call.warnings += [f'duplicate field "{path}"' for path in repeated]

    def read(self, document: JsonObject, group: str, version: str, kind: str) -> JsonObject:
        """A request object that is not stored (a binding, an eviction), if it is of the right types."""
        key = (group, version, kind)
        if key not in self._requests:
            self._requests[key] = builtin_schemas.compile_kind(builtin_schemas.load(), *key)
        compiled = self._requests[key]
        if compiled is not None:
            compiled.clean(document)
            if found := compiled.validate(document):
                causes = [status.cause(error.path, error.body, error.reason) for error in found]
                raise _unreadable(kind, version, causes)
        return document

    def check_declared(self, call: Call, applied: JsonObject) -> None:
        """Refuse a configuration to apply that sets fields which its kind does not have."""
        compiled = self._of(call.resource)
        unknown = compiled.clean(msgspec.json.decode(msgspec.json.encode(applied))) if compiled is not None else []
        if not unknown:
            return
        resource, faults = call.resource, [f".{path}: field not declared in schema" for path in unknown]
        name = f"{applied['metadata'].get('namespace') or ''}/{applied['metadata'].get('name') or ''}"
        version = resource.api_version if resource.group else f"/{resource.version}"
        listing = faults[0] if len(faults) == 1 else "errors:\n" + "\n".join(f"  {fault}" for fault in faults)
        message = f"failed to create typed patch object ({name}; {version}, Kind={resource.kind}): {listing}"
        raise status.bad_request(message)

    def tidy(self, resource: ResourceInfo, document: JsonObject) -> None:
        """Prune and default again what admission has changed."""
        compiled = self._of(resource)
        if compiled is not None:
            compiled.clean(document)
        self.bring_into_form(resource, document)

    def bring_into_form(self, resource: ResourceInfo, document: JsonObject) -> None:
        """Write a document of the right types as Kubernetes' own types would."""
        try:
            canon = self._canons[resource]
        except KeyError:
            canon = self._canons[resource] = canon_of(resource)
        if canon is not None:
            canon.apply(document)
        else:
            tidy_metadata(document)

    def empty(self, resource: ResourceInfo) -> JsonObject:
        """An object of which nothing has been said: what the fields of a new one are counted against."""
        known = self._empty.get(resource)
        if known is None:
            canon = canon_of(resource)
            known = self._empty[resource] = canon.empty() if canon is not None else {}
        return known

    def check(self, resource: ResourceInfo, document: JsonObject) -> list[Cause]:
        """What of a cleaned document is not as the schema wants it."""
        compiled = self._of(resource)
        found = compiled.validate(document) if compiled is not None else ()
        return [status.cause(error.path, error.body, error.reason) for error in found]

    def check_types(self, call: Call, document: JsonObject) -> None:
        """Refuse a built-in object that Kubernetes' own decoder could not read, or that lacks what it must have."""
        causes = [shown for found in self.check(call.resource, document) if (shown := _as_built_in(found)) is not None]
        if any(cause["reason"] == "FieldValueTypeInvalid" or _FORMAT.search(cause["message"]) for cause in causes):
            raise _unreadable(call.resource.kind, call.resource.version, causes)
        if causes:
            raise status.invalid(call.resource, document["metadata"].get("name") or "", causes)

    def _of(self, resource: ResourceInfo) -> schema.Compiled | None:
        try:
            return self._compiled[resource]
        except KeyError:
            compiled = self._compiled[resource] = _compile(resource)
            return compiled


_FORMAT = re.compile(r" in body (must be of type|should match) |quantities must match")
"""Values that Kubernetes' own decoder could not read: bytes, times, quantities."""


def _as_built_in(found: Cause) -> Cause | None:
    """A fault as Kubernetes tells it of its own kinds. Only lists with one key are checked for repeats there."""
    if found["reason"] != "FieldValueDuplicate":
        return found
    key = msgspec.json.decode(found["message"].partition(": ")[2])
    if not isinstance(key, dict):
        return found
    if len(key) != 1 or found["field"].startswith("metadata."):
        return None
    [(name, value)] = key.items()
    text = f"Duplicate value: {msgspec.json.encode(value).decode()}"
    return status.cause(f"{found['field']}.{name}", text, "FieldValueDuplicate")


def written_json(call: Call) -> bytes:
    """The request's body if repeated fields can be found in it."""
    return call.request.body if bodies.media_type(call.request) in _JSON_OBJECTS else b""


def _compile(resource: ResourceInfo) -> schema.Compiled | None:
    definitions = builtin_schemas.load()
    if resource.definition:
        structure = (resource.definition.get("schema") or {}).get("openAPIV3Schema") or {}
        return schema.compile(structure, definitions.__getitem__)
    if resource.custom:
        return crds.compile_resource(resource.resource, definitions)
    return builtin_schemas.compile_kind(definitions, resource.group, resource.version, resource.kind)


def _repeated_fields(written: bytes) -> list[str]:
    try:
        return schema.duplicate_fields(written)
    except UnicodeDecodeError:
        return []


def _not_strict(call: Call, fault: str) -> status.StatusError:
    """Fields that do not belong, with fieldValidation Strict."""
    kind = call.resource.kind
    if call.request.method != "PATCH":
        return status.bad_request(f'{kind} in version "{call.resource.version}" cannot be handled as a {kind}: {fault}')
    shown = msgspec.json.encode(call.request.body[:1000].decode(errors="replace")).decode()
    cause = status.cause("patch", f"Invalid value: {shown}: {fault}")
    return status.StatusError(422, "Invalid", f' "" is invalid: patch: {cause["message"]}', [cause], {})


def _unreadable(kind: str, version: str, causes: list[Cause]) -> status.StatusError:
    text = f"{causes[0]['field']}: {causes[0]['message']}"
    message = f'{kind} in version "{version}" cannot be handled as a {kind}: {text}'
    return status.StatusError(400, "BadRequest", message, causes)
