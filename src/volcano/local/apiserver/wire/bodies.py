"""Request bodies into documents: JSON, YAML and protobuf; everything else is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver import status

if TYPE_CHECKING:
    from volcano.http.message import Request


JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
ACCEPTED = (JSON, YAML, PROTOBUF)

MAX_DEPTH = 256
"""Nothing that Kubernetes stores nests half as deep; what does is meant to exhaust its readers."""

_decode = msgspec.json.Decoder().decode


def media_type(request: Request) -> str:
    content_type = request.headers.get("content-type", "")
    return content_type if content_type == JSON else content_type.partition(";")[0].strip().lower()


def read_document(request: Request) -> JsonObject:
    """The object in the body of a create or update."""
    kind = media_type(request)
    if kind == JSON:
        return _checked(read_json(request.body))
    if kind == YAML:
        return _checked(read_yaml(request.body))
    if kind == PROTOBUF:
        from volcano.local.apiserver.wire.protobuf import decode_protobuf

        return _checked(decode_protobuf(request.body))
    raise status.unsupported_media_type(kind, ACCEPTED)


def read_optional(request: Request) -> JsonObject:
    """The options in the body of a delete, {} without one."""
    return read_document(request) if request.body else {}


def read_json(body: bytes) -> Any:
    try:
        document = _decode(body)
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if "UTF-8" in str(error):  # as Kubernetes does: what is no text is replaced
            return read_json(body.decode(errors="replace").encode())
        raise status.bad_request(f"the request body is not valid JSON: {error}") from None
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        check_depth(document)
    return document


def read_yaml(body: bytes) -> Any:
    if body[:1] == b"{":  # most clients send JSON under this name
        try:
            return read_json(body)
        except status.StatusError:
            if _is_json(body):
                raise
    from volcano.kube.manifests import ManifestError, yaml_documents

    try:
        document = next((document for _, document in yaml_documents(body.decode(errors="replace"), "body")), None)
    except RecursionError:
        raise _too_deep() from None
    except ManifestError as error:
        raise status.bad_request(f"the request body is not valid YAML: {error}") from None
    check_depth(document)
    return document


def _is_json(body: bytes) -> bool:
    """Whether only the depth of a body speaks against it."""
    try:
        _decode(body)
    except RecursionError:
        return True
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def check_depth(document: Any) -> None:
    """Refuse what nests deeper than anybody has to look."""
    level = [document]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for value in level
            if isinstance(value, (dict, list))
            for item in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> status.StatusError:
    return status.bad_request(f"the request body nests deeper than {MAX_DEPTH} levels")


def _checked(document: Any) -> JsonObject:
    if document is None:
        document = {}
    if not isinstance(document, dict):
        raise status.bad_request(f"the request body is not an object but {_json_type(document)}")
    for field in ("metadata", "spec", "status"):
        value = document.get(field)
        if value is not None and not isinstance(value, dict):
            raise status.bad_request(f"{field} must be an object, not {_json_type(value)}")
    metadata = document.get("metadata")
    if metadata is None:
        document["metadata"] = {}
    return document


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)
