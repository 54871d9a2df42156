"""Errors as Kubernetes clients know them: one exception, one function per reason, rendered as Status documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver.faults import Cause, PatchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.local.apiserver.catalog.registry import ResourceInfo


class StatusError(PatchError):
    """A refused request: HTTP code, machine-readable reason, message, and what it is about."""

    def __init__(
        self, status: int, reason: str, message: str, causes: Sequence[Cause] = (), details: JsonObject | None = None
    ) -> None:
        super().__init__(status, reason, message, causes)
        self.details = details
        self.metadata: JsonObject = {}


def status_document(error: PatchError) -> JsonObject:
    """The Status that tells a client about `error`."""
    given: JsonObject | None = getattr(error, "details", None)
    details = dict(given or {}) | ({"causes": error.causes} if error.causes else {})
    document: JsonObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": getattr(error, "metadata", {}),
        "status": "Failure",
        "message": error.message,
        "reason": error.reason,
        "code": error.status,
    }
    if details or given is not None:
        document["details"] = details
    return document


def success(resource: ResourceInfo | None = None, name: str = "", uid: str = "", code: int | None = None) -> bytes:
    """The Status of a request that went well and has no object to return."""
    document: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if resource is not None:
        document["details"] = _details(resource, name) | ({"uid": uid} if uid else {})
    if code is not None:
        document["code"] = code
    return msgspec.json.encode(document)


def not_found(resource: ResourceInfo, name: str) -> StatusError:
    return StatusError(404, "NotFound", f'{resource.qualified} "{name}" not found', details=_details(resource, name))


def no_such_path() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


_INTO_PODS = frozenset({"proxy", "ephemeralcontainers", "resize"})


def no_such_subresource(resource: ResourceInfo, name: str) -> StatusError:
    """What leads into containers has no counterpart here, and says so."""
    if resource.qualified == "pods" and name in _INTO_PODS:
        return StatusError(
            501,
            "NotImplemented",
            f"pods/{name} is not served here: pods are processes of the node's machine, reach them there",
        )
    return no_such_path()


def already_exists(resource: ResourceInfo, name: str) -> StatusError:
    return StatusError(
        409, "AlreadyExists", f'{resource.qualified} "{name}" already exists', details=_details(resource, name)
    )


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: ResourceInfo, name: str, why: str = MODIFIED, *, kind: str = "") -> StatusError:
    """`kind` names what was in conflict where it is not the resource itself."""
    qualified = (f"{kind}.{resource.group}" if resource.group else kind) if kind else resource.qualified
    message = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    details = _details(resource, name) | ({"kind": kind} if kind else {})
    return StatusError(409, "Conflict", message, details=details)


def forbidden(resource: ResourceInfo, name: str, why: str, causes: Sequence[Cause] = ()) -> StatusError:
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    return StatusError(403, "Forbidden", message, causes, _details(resource, name))


def invalid(resource: ResourceInfo, name: str, causes: Sequence[Cause]) -> StatusError:
    """422 with one cause per field; each cause's message is `<what is wrong>` without the field."""
    return invalid_kind(resource.kind, resource.group, name, causes)


def invalid_kind(kind: str, group: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """As `invalid`, for kinds that are not stored."""
    texts = [f"{cause['field']}: {cause['message']}" if cause.get("field") else cause["message"] for cause in causes]
    listing = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{kind}.{group}" if group else kind
    message = f'{qualified} "{name}" is invalid: {listing}'
    details = {"name": name, "group": group, "kind": kind}
    return StatusError(422, "Invalid", message, causes, {key: value for key, value in details.items() if value})


def invalid_option(kind: str, cause: Cause) -> StatusError:
    """422 about the options of a request, which are a kind of their own."""
    message = f'{kind}.meta.k8s.io "" is invalid: {cause["field"]}: {cause["message"]}'
    return StatusError(422, "Invalid", message, [cause], {"group": "meta.k8s.io", "kind": kind})


def cause(field: str, message: str, reason: str = "FieldValueInvalid") -> Cause:
    return {"reason": reason, "message": message, "field": field}


def required(field: str, what: str = "") -> Cause:
    return cause(field, f"Required value: {what}" if what else "Required value", "FieldValueRequired")


def unsupported(field: str, value: object, supported: Sequence[str]) -> Cause:
    """A value that is none of those there are; the empty one is missing."""
    choices = ", ".join(f'"{choice}"' for choice in supported)
    shown = "" if value is None else value
    return cause(field, f'Unsupported value: "{shown}": supported values: {choices}', "FieldValueNotSupported")


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def from_the_future(revision: int, current: int) -> StatusError:
    return StatusError(
        504,
        "Timeout",
        f"Too large resource version: {revision}, current: {current}",
        [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        {"retryAfterSeconds": 1},
    )


def method_not_allowed() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, details={})


def unsupported_media_type(found: str, accepted: Sequence[str]) -> StatusError:
    kinds = ", ".join(accepted)
    message = f"the body of the request was in an unknown format - accepted media types include: {kinds}"
    return StatusError(415, "UnsupportedMediaType", message if found else f"{message} (there is no Content-Type)")


def _details(resource: ResourceInfo, name: str) -> JsonObject:
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    return {key: value for key, value in details.items() if value}
