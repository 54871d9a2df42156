"""OpenAPI v3: an index, and one document per group and version with what clients look for in it.

Trimmed: the schemas of the served kinds with all they refer to, and of each resource the operations that say what its
kind is, which patches it takes and that it validates fields. Neighbours: discovery.py, app.py.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, Any, Final

import msgspec

from volcano.api.builtin_schemas import VERSION, definition_name
from volcano.api.crds import EMBEDDED_META, referring_schema
from volcano.api.resources import ALL_VOLCANO
from volcano.local.apiserver.catalog.discovery import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from volcano.api.builtin_schemas import Definitions
    from volcano.api.meta import JsonObject
    from volcano.api.resource import Resource

_PREFIX: Final = "#/components/schemas/"
_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_FOREVER: Final = {"Cache-Control": "public, immutable", "Expires": "Fri, 01 Jan 2100 00:00:00 GMT"}
_PATCH_TYPES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_FIELD_VALIDATION: Final[JsonObject] = {
    "name": "fieldValidation",
    "in": "query",
    "description": "What to do with unknown and repeated fields: Ignore, Warn or Strict.",
    "schema": {"type": "string", "uniqueItems": True},
}
_PUBLISHED: Final[dict[str, JsonObject]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}


class OpenApi:
    """The documents of one server; made when asked for, kept compressed."""

    def __init__(
        self, definitions: Definitions, custom_schema: Callable[[Resource[Any]], JsonObject | None] | None = None
    ) -> None:
        """`custom_schema` gives the schema of kinds that users define."""
        self._definitions = definitions
        self._custom_schema = custom_schema or (lambda _resource: None)
        self._documents: dict[str, bytes] = {}

    def index(self, resources: Iterable[Resource[Any]]) -> JsonObject:
        """Where the documents are."""
        served = list(resources)
        paths = {}
        for group, version in sorted({(each.group, each.version) for each in served}):
            name = _document_name(group, version)
            paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={self.hash_of(group, version, served)}"}
        return {"paths": paths}

    def document(self, group: str, version: str, resources: Iterable[Resource[Any]]) -> bytes:
        """The document of one group and version."""
        wanted = _of_version(group, version, resources)
        key = self._hash(group, version, wanted)
        known = self._documents.get(key)
        if known is None:
            body = msgspec.json.encode(self._document(wanted))
            self._documents = {name: kept for name, kept in self._documents.items() if not _same(name, key)}
            self._documents[key] = zlib.compress(body, 3)
            return body
        return zlib.decompress(known)

    def hash_of(self, group: str, version: str, resources: Iterable[Resource[Any]]) -> str:
        """Changes whenever the document does."""
        return self._hash(group, version, _of_version(group, version, resources)).rpartition(" ")[2]

    def respond(
        self, path: str, wanted_hash: str | None, resources: Iterable[Resource[Any]], if_none_match: str | None = None
    ) -> Answer | None:
        """The answer to a request below /openapi/v3; None if there is no such document."""
        served = list(resources)
        name = path.removeprefix("/openapi/v3").strip("/")
        if not name:
            return _revalidated(msgspec.json.encode(self.index(served)), if_none_match)
        group, version = _group_version(name)
        if not any((each.group, each.version) == (group, version) for each in served):
            return None
        current = self.hash_of(group, version, served)
        if wanted_hash is not None and wanted_hash != current:
            return Answer(301, {"Location": f"/openapi/v3/{name}?hash={current}"}, b"")
        headers = {"Content-Type": "application/json", "ETag": f'"{current}"', "Vary": "Accept"}
        if wanted_hash is not None:
            headers.update(_FOREVER)
        if if_none_match == headers["ETag"]:
            return Answer(304, headers, b"")
        return Answer(200, headers, self.document(group, version, served))

    def _hash(self, group: str, version: str, resources: list[Resource[Any]]) -> str:
        digest = hashlib.sha256(f"{VERSION} {len(self._definitions)}".encode())
        for resource in resources:
            digest.update(repr((resource.plural, resource.kind, resource.namespaced, resource.verbs)).encode())
            if resource.custom:
                digest.update(msgspec.json.encode(self._schema_of(resource)))
        return f"{_document_name(group, version)} {digest.hexdigest().upper()}"

    def _document(self, resources: list[Resource[Any]]) -> JsonObject:
        schemas: JsonObject = {}
        paths: JsonObject = {}
        for resource in resources:
            name = _schema_name(resource)
            if resource.custom or name in self._definitions:
                schemas.setdefault(name, self._top_schema(resource, name))
                self._add_references(schemas[name], schemas)
            paths.update(_paths(resource))
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": f"v{VERSION}"},
            "paths": paths,
            "components": {"schemas": dict(sorted(schemas.items()))},
        }

    def _top_schema(self, resource: Resource[Any], name: str) -> JsonObject:
        """The schema of a kind. A kind has one name per group and version, even if it is served in two places."""
        if not resource.custom:
            return _published(self._definitions.documented(name))
        schema = self._schema_of(resource)
        properties = {**schema.get("properties", {}), "metadata": {"$ref": _PREFIX + _OBJECT_META}}
        kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        return _published({**schema, "properties": properties, "x-kubernetes-group-version-kind": [kind]})

    def _schema_of(self, resource: Resource[Any]) -> JsonObject:
        if resource.group_resource in _OWN and resource.version == _OWN[resource.group_resource].version:
            return referring_schema(_OWN[resource.group_resource])
        return self._custom_schema(resource) or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

    def _add_references(self, schema: JsonObject, schemas: JsonObject) -> None:
        """Adds to `schemas` everything `schema` refers to."""
        waiting = list(_references(schema))
        while waiting:
            name = waiting.pop()
            if name in schemas:
                continue
            schemas[name] = self._referred(name)
            waiting.extend(_references(schemas[name]))

    def _referred(self, name: str) -> JsonObject:
        definition = self._definitions.documented(_OBJECT_META if name == EMBEDDED_META else name)
        special = _PUBLISHED.get(name)
        if special is not None:
            return {**special, "description": definition.get("description", "")}
        return _published(definition)


_OWN: Final = {resource.group_resource: resource for resource in ALL_VOLCANO}


def _of_version(group: str, version: str, resources: Iterable[Resource[Any]]) -> list[Resource[Any]]:
    return [each for each in resources if (each.group, each.version) == (group, version)]


def _document_name(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _group_version(name: str) -> tuple[str, str]:
    match name.split("/"):
        case ["api", version]:
            return "", version
        case ["apis", group, version]:
            return group, version
        case _:
            return "", ""


def _same(first: str, second: str) -> bool:
    return first.partition(" ")[0] == second.partition(" ")[0]


def _schema_name(resource: Resource[Any]) -> str:
    if resource.custom:
        return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
    return definition_name(resource.group, resource.version, resource.kind)


def _paths(resource: Resource[Any]) -> Iterator[tuple[str, JsonObject]]:
    """The operations of one resource that clients read: how it is created, and how one object is patched."""
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    collection = resource.path("{namespace}" if resource.namespaced else None)
    schema = {"$ref": _PREFIX + _schema_name(resource)}
    answer = {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}}
    operation = {"x-kubernetes-group-version-kind": kind, "parameters": [_FIELD_VALIDATION], "responses": answer}
    if "create" in resource.verbs:
        content = {"application/json": {"schema": schema}}
        yield (
            collection,
            {"post": {**operation, "x-kubernetes-action": "post", "requestBody": {"content": content}}},
        )
    if "patch" in resource.verbs:
        types = _PATCH_TYPES if resource.custom else (*_PATCH_TYPES, _STRATEGIC)
        patch = {each: {"schema": {"type": "object"}} for each in types}
        yield (
            f"{collection}/{{name}}",
            {"patch": {**operation, "x-kubernetes-action": "patch", "requestBody": {"content": patch}}},
        )


def _published(node: JsonObject) -> JsonObject:
    """A schema as OpenAPI v3 writes it: references to components, wrapped in allOf where something stands beside."""
    result: JsonObject = {}
    for word, value in node.items():
        match word:
            case "properties":
                result[word] = {field: _published(each) for field, each in value.items()}
            case "items" | "additionalProperties" if isinstance(value, dict):
                result[word] = _published(value)
            case "$ref":
                result[word] = _PREFIX + _component(value)
            case _:
                result[word] = value
    if "$ref" in result and len(result) > 1:
        result["allOf"] = [{"$ref": result.pop("$ref")}]
    return result


def _component(reference: str) -> str:
    name = reference.rpartition("/")[2]
    return _OBJECT_META if name == EMBEDDED_META else name


def _references(node: JsonObject) -> Iterator[str]:
    if "$ref" in node:
        yield node["$ref"].removeprefix(_PREFIX)
    for word in ("items", "additionalProperties", "not"):
        if isinstance(node.get(word), dict):
            yield from _references(node[word])
    for word in ("allOf", "anyOf", "oneOf"):
        for each in node.get(word, ()):
            yield from _references(each)
    for each in node.get("properties", {}).values():
        yield from _references(each)


def _revalidated(body: bytes, if_none_match: str | None) -> Answer:
    etag = f'"{hashlib.sha256(body).hexdigest().upper()}"'
    headers = {"Content-Type": "application/json", "ETag": etag, "Vary": "Accept", "Cache-Control": "no-cache"}
    return Answer(304, headers, b"") if if_none_match == etag else Answer(200, headers, body)
