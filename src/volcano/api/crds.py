"""CustomResourceDefinitions made from the types: one source for decoding, schemas, documentation and charts.

constraints.py says what a field may hold; the schemas of embedded Kubernetes types come from builtin_schemas.py.
"""

from __future__ import annotations

import datetime
import types
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, get_args, get_origin

import msgspec

from volcano.api import schema
from volcano.api.builtin_schemas import INT_OR_STRING, QUANTITY
from volcano.api.constraints import Schema
from volcano.api.meta import Condition, JsonObject, LabelSelector, ObjectMeta, ObjectReference, OwnerReference

if TYPE_CHECKING:
    from volcano.api.builtin_schemas import Definitions
    from volcano.api.resource import Column, Resource

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
EMBEDDED_META: Final = "embedded-metadata"
_EMBEDDED_META: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "name": {"type": "string"},
        "namespace": {"type": "string"},
    },
}
# Types whose schema is Kubernetes' own.
_DEFINED: Final[dict[type, str]] = {
    LabelSelector: "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    OwnerReference: "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
    ObjectReference: "io.k8s.api.core.v1.ObjectReference",
}
_SCALARS: Final[dict[Any, JsonObject]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    datetime.datetime: {"type": "string", "format": "date-time"},
}
_NOT_FOR_EMBEDDING: Final = frozenset(
    {"x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy", "x-kubernetes-unions"}
)
# Definitions that include a reference by name, which is replaced as a whole where it is embedded.
_ATOMIC: Final = frozenset(
    f"io.k8s.api.core.v1.{kind}"
    for kind in (
        "ConfigMapEnvSource",
        "ConfigMapProjection",
        "ConfigMapVolumeSource",
        "SecretEnvSource",
        "SecretProjection",
    )
)
_IDENTITY: Final[JsonObject] = {
    "apiVersion": {"type": "string", "description": "Version of the schema this object is written in."},
    "kind": {"type": "string", "description": "What the object is; cannot change."},
}


def crd(resource: Resource[Any], definitions: Definitions) -> JsonObject:
    """The CustomResourceDefinition of one of Volcano's resources."""
    version: JsonObject = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": object_schema(resource, definitions)},
    }
    if resource.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in resource.columns]
    if resource.subresources:
        version["subresources"] = {subresource.name: {} for subresource in resource.subresources}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.group_resource, "annotations": {"helm.sh/resource-policy": "keep"}},
        "spec": {
            "group": resource.group,
            "names": _names(resource),
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }


def object_schema(resource: Resource[Any], definitions: Definitions) -> JsonObject:
    """The structural schema of a resource, complete in itself."""
    inlined: JsonObject = _Inliner(definitions).expand(referring_schema(resource))
    return inlined


def referring_schema(resource: Resource[Any]) -> JsonObject:
    """The schema of a resource with `$ref`s to Kubernetes' definitions where it embeds them."""
    return {**_struct(resource.type, top=True)}


def compile_resource(resource: Resource[Any], definitions: Definitions) -> schema.Compiled:
    """The schema of one of Volcano's resources, ready for use; embedded definitions are compiled when first met."""
    return schema.compile(referring_schema(resource), _EmbeddingResolver(definitions))


class _EmbeddingResolver:
    """Kubernetes' definitions as they look inside a custom resource: with the short metadata."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def __call__(self, name: str) -> JsonObject:
        if name == EMBEDDED_META:
            return _EMBEDDED_META
        if name == OBJECT_META:
            return self._definitions[name]
        definition: JsonObject = _with_embedded_meta(self._definitions[name])
        return {**definition, "x-kubernetes-map-type": "atomic"} if name in _ATOMIC else definition


class _Inliner:
    def __init__(self, definitions: Definitions) -> None:
        self._resolve = _EmbeddingResolver(definitions)
        self._known: dict[str, JsonObject] = {}

    def expand(self, node: Any) -> Any:
        """`node` with every reference replaced by what it refers to."""
        if isinstance(node, list):
            return [self.expand(each) for each in node]
        if not isinstance(node, dict):
            return node
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return {word: self.expand(value) for word, value in node.items() if word not in _NOT_FOR_EMBEDDING}
        beside = {word: self.expand(value) for word, value in node.items() if word != "$ref"}
        return {**self._definition(reference.rpartition("/")[2]), **beside}

    def _definition(self, name: str) -> JsonObject:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self.expand(self._resolve(name))
        return known


def _with_embedded_meta(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_embedded_meta(each) for each in node]
    if not isinstance(node, dict):
        return node
    if str(node.get("$ref", "")).endswith("/" + OBJECT_META):
        return {**node, "$ref": EMBEDDED_META}
    return {word: _with_embedded_meta(value) for word, value in node.items()}


def _names(resource: Resource[Any]) -> JsonObject:
    names: JsonObject = {
        "kind": resource.kind,
        "listKind": resource.list_kind,
        "plural": resource.plural,
        "singular": resource.singular,
    }
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if resource.categories:
        names["categories"] = list(resource.categories)
    return names


def _column(column: Column) -> JsonObject:
    described: JsonObject = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    if column.priority:
        described["priority"] = column.priority
    return described


def _struct(struct: type, *, top: bool = False) -> JsonObject:
    """The schema of a struct type."""
    properties: JsonObject = {}
    required: list[str] = []
    for field in msgspec.structs.fields(struct):
        if top and field.encode_name in _IDENTITY:
            properties[field.encode_name] = dict(_IDENTITY[field.encode_name])
            continue
        if top and field.type is ObjectMeta:
            properties[field.encode_name] = {"type": "object"}
            continue
        hint, constraint = _split(field.type)
        properties[field.encode_name] = _constrained(_of(hint), constraint)
        if constraint.required:
            required.append(field.encode_name)
    result: JsonObject = {"type": "object", "properties": properties}
    if struct.__doc__ and struct is not Condition:
        result["description"] = " ".join(struct.__doc__.split())
    if required:
        result["required"] = sorted(required)
    return result


def _of(hint: Any) -> JsonObject:
    """The schema of a type without its constraints."""
    if hint in _SCALARS:
        return dict(_SCALARS[hint])
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is list:
        return {"type": "array", "items": _of(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(arguments[1])}
    if origin in (Union, types.UnionType):
        return _union(set(arguments))
    if hint in _DEFINED:
        return {"$ref": f"#/$defs/{_DEFINED[hint]}"}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _struct(hint)
    if hint is Any:
        return {}
    raise TypeError(f"no schema for {hint!r}: add it to crds.py")


def _union(members: set[Any]) -> JsonObject:
    if members == {str, int, float}:
        return dict(QUANTITY)
    if members == {str, int}:
        return dict(INT_OR_STRING)
    raise TypeError(f"no schema for the union of {members}: add it to crds.py")


def _split(hint: Any) -> tuple[Any, Schema]:
    """A field's type without None, and its constraints."""
    constraint = Schema()
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        constraint = next((extra for extra in extras if isinstance(extra, Schema)), constraint)
    if get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint):
        members = tuple(member for member in get_args(hint) if member is not type(None))
        hint = members[0] if len(members) == 1 else Union[members]  # noqa: UP007 - made at run time
    return hint, constraint


def _constrained(node: JsonObject, constraint: Schema) -> JsonObject:
    """`node` with the words of `constraint` added."""
    if constraint.definition:
        node = {"$ref": f"#/$defs/{constraint.definition}"}
    words: JsonObject = {
        "description": constraint.doc or node.get("description"),
        "default": constraint.default,
        "enum": list(constraint.enum) or None,
        "pattern": constraint.pattern or None,
        "format": constraint.format or node.get("format"),
        "minimum": constraint.minimum,
        "maximum": constraint.maximum,
        "minLength": constraint.min_length,
        "maxLength": constraint.max_length,
        "minItems": constraint.min_items,
        "x-kubernetes-list-type": constraint.list_type or None,
        "x-kubernetes-list-map-keys": list(constraint.list_map_keys) or None,
        "x-kubernetes-map-type": constraint.map_type or None,
        "x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in constraint.rules] or None,
    }
    result = {**node, **{word: value for word, value in words.items() if value is not None}}
    if constraint.items is not None:
        result["items"] = _constrained(result["items"], constraint.items)
    if constraint.values is not None:
        result["additionalProperties"] = _constrained(result["additionalProperties"], constraint.values)
    return result
