"""How objects may be merged, read from their OpenAPI schema: list types, merge keys, atomic maps.

strategic.py and apply.py walk objects along these shapes. Built-in kinds and CRDs look the same from here.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from volcano.api import builtin_schemas, crds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from volcano.api.meta import JsonObject
    from volcano.local.apiserver.catalog.registry import ResourceInfo

__all__ = ["Shape", "Shapes", "builtin_shape", "shape_of"]

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
# Free-form fields whose content belongs to one manager as a whole.
_WHOLE_VALUES = frozenset({"FieldsV1", "RawExtension", "JSON", "Quantity", "IntOrString", "Time", "MicroTime"})


_EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0}
_SCALARS = frozenset({"string", "integer", "number", "boolean"})


class Shape:
    """The merge rules of one place in an object. Fields and items are worked out when first asked for."""

    __slots__ = (
        *("_fields", "_items", "_schema", "_shapes", "_values"),
        *("key_defaults", "keys", "leaf", "list_type", "members", "merge_key", "merges_values"),
        *("typed", "whole"),
    )

    def __init__(
        self, shapes: Shapes, schema: JsonObject, overlay: JsonObject, *, whole: bool = False, typed: bool = False
    ) -> None:
        self._shapes = shapes
        self.typed = typed
        """Made from a named definition: one of Kubernetes' own types."""
        self._schema = schema
        self._fields: dict[str, Shape] = {}
        self._items: Shape | None = None
        self._values: Shape | None = None
        self.members: dict[str, tuple[str, Shape]] = {}
        """The fields of this type met so far, each with its path element."""
        strategy = str(overlay.get("x-kubernetes-patch-strategy", ""))
        self.merge_key: str = str(overlay.get("x-kubernetes-patch-merge-key", "")) if "merge" in strategy else ""
        self.merges_values = "merge" in strategy and not self.merge_key
        """A strategic merge patch adds to this list of plain values instead of replacing it."""
        self.whole = whole or overlay.get("x-kubernetes-map-type", schema.get("x-kubernetes-map-type")) == "atomic"
        """An object that is set, owned and replaced as one value."""
        self.list_type = str(overlay.get("x-kubernetes-list-type") or _list_type(strategy, self.merge_key))
        """"atomic", "set" or "map"."""
        self.keys: tuple[str, ...] = tuple(overlay.get("x-kubernetes-list-map-keys") or ())
        if self.list_type == "map" and not self.keys:
            self.keys = (self.merge_key,) if self.merge_key else ()
            self.list_type = "map" if self.keys else "atomic"
        self.key_defaults: dict[str, Any] = self._defaults_of_keys() if self.keys else {}
        kind = schema.get("type")
        self.leaf = self.whole or kind in _SCALARS or (kind == "array" and self.list_type == "atomic")
        """Whatever stands here is one field."""

    def member(self, name: str) -> tuple[str, Shape]:
        """The path element and the shape of a member; those of types are remembered in `members`."""
        found = "f:" + name, self.field(name)
        if self.names(name):
            self.members[name] = found
        return found

    def field(self, name: str) -> Shape:
        """The shape of a member of this object; unknown members merge by what they turn out to be."""
        known = self._fields.get(name)
        if known is None:
            schema = (self._schema.get("properties") or {}).get(name)
            if schema is None:
                return self._value()
            known = self._fields[name] = self._shapes.of(schema)
        return known

    def _value(self) -> Shape:
        """The shape of what a map holds, and of fields that no schema names."""
        if self._values is None:
            extra = self._schema.get("additionalProperties")
            self._values = self._shapes.of(extra if isinstance(extra, dict) else {})
        return self._values

    def names(self, name: str) -> bool:
        """Whether the schema names this member: a field of a type, not a key of a map."""
        return name in (self._schema.get("properties") or ())

    def with_field(self, name: str, shape: Shape) -> Shape:
        """This shape, with `name` known to look like `shape` (a custom resource's metadata)."""
        self._fields[name] = shape
        return self

    @property
    def items(self) -> Shape:
        if self._items is None:
            schema = self._schema.get("items")
            self._items = self._shapes.of(schema if isinstance(schema, dict) else {})
        return self._items

    def _defaults_of_keys(self) -> dict[str, Any]:
        """What an item's keys are where it leaves them out: in Kubernetes' own types, required ones are empty then."""
        schema = self.items._schema
        properties, required = schema.get("properties") or {}, schema.get("required") or ()
        defaults = {}
        for key in self.keys:
            known = properties.get(key) or {}
            empty = _EMPTY.get(str(known.get("type"))) if self.items.typed and key in required else None
            defaults[key] = known.get("default", empty)
        return defaults


class Shapes:
    """Shapes of one set of schemas, made once per definition."""

    def __init__(self, definitions: Mapping[str, JsonObject]) -> None:
        self._definitions = definitions
        self._named: dict[tuple[str, str], Shape] = {}

    def root(self, schema: JsonObject) -> Shape:
        """The shape of a whole object; metadata is always Kubernetes' ObjectMeta."""
        shape = self.of(schema)
        if _OBJECT_META in self._definitions:
            shape.with_field("metadata", self.of({"$ref": _OBJECT_META}))
        return shape

    def of(self, schema: JsonObject) -> Shape:
        """The shape at a schema, its `$ref` (alone, or within allOf) followed."""
        reference = schema.get("$ref")
        for part in schema.get("allOf") or ():
            reference = reference or part.get("$ref")
        if reference is None:
            return Shape(self, schema, schema)
        name = str(reference).rpartition("/")[2]
        rules = ",".join(f"{key}={schema[key]}" for key in sorted(schema) if key.startswith("x-kubernetes"))
        known = self._named.get((name, rules))
        if known is None:
            whole = name.rpartition(".")[2] in _WHOLE_VALUES
            definition = self._definitions.get(name, {})
            overlay = {**definition, **{key: value for key, value in schema.items() if key.startswith("x-kubernetes")}}
            known = self._named[name, rules] = Shape(self, definition, overlay, whole=whole, typed=True)
        return known


@lru_cache(maxsize=256)
def shape_of(resource: ResourceInfo) -> Shape:
    """How objects of a served resource are merged."""
    if resource.definition:
        return _kubernetes().root((resource.definition.get("schema") or {}).get("openAPIV3Schema") or {})
    if resource.custom:
        return _kubernetes().root(crds.referring_schema(resource.resource))
    return builtin_shape(builtin_schemas.definition_name(resource.group, resource.version, resource.kind))


def builtin_shape(name: str) -> Shape:
    """The shape of objects of one of Kubernetes' own definitions."""
    return _kubernetes().root({"$ref": name})


@cache
def _kubernetes() -> Shapes:
    return Shapes(builtin_schemas.load())


def _list_type(strategy: str, merge_key: str) -> str:
    if "merge" not in strategy:
        return "atomic"
    return "map" if merge_key else "set"
