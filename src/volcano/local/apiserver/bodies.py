"""Request bodies into documents: JSON, YAML and protobuf; everything else is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from volcano.local.apiserver import status

if TYPE_CHECKING:
    from volcano.http.message import Request

JsonObject = dict[str, Any]

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
ACCEPTED = (JSON, YAML, PROTOBUF)

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
        from volcano.local.apiserver.protobuf import decode_protobuf

        return _checked(decode_protobuf(request.body))
    raise status.unsupported_media_type(kind, ACCEPTED)


def read_optional(request: Request) -> JsonObject:
    """The options in the body of a delete, {} without one."""
    return read_document(request) if request.body else {}


def read_json(body: bytes) -> Any:
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if "UTF-8" in str(error):  # as Kubernetes does: what is no text is replaced
            return read_json(body.decode(errors="replace").encode())
        raise status.bad_request(f"the request body is not valid JSON: {error}") from None


def read_yaml(body: bytes) -> Any:
    if body[:1] == b"{":  # most clients send JSON under this name
        try:
            return _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
    from volcano.kube.manifests import ManifestError, yaml_documents

    try:
        return next((document for _, document in yaml_documents(body.decode(errors="replace"), "body")), None)
    except ManifestError as error:
        raise status.bad_request(f"the request body is not valid YAML: {error}") from None


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
