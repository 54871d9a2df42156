"""From a schema to closures. Each node has `clean` (drop nulls and unknown fields, fill in defaults) and `validate`.

Both return None when there is nothing to report, so that a good document costs a few look-ups per field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from volcano.api.schema.errors import FieldError, Problems, SchemaError, path_of
from volcano.api.schema.lists import list_checks
from volcano.api.schema.rules import rule_checks
from volcano.api.schema.scalars import SCALARS, Check, checks_of
from volcano.api.schema.structure import (
    PLAIN,
    Cleaner,
    Place,
    Unknown,
    all_of,
    array_check,
    array_cleaner,
    combined,
    is_int_or_string,
    map_check,
    map_cleaner,
    none_of,
    nothing_to_clean,
    object_check,
    object_cleaner,
    one_of,
    property_count,
    scalar_check,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from volcano.api.meta import JsonObject

Resolver: TypeAlias = "Callable[[str], JsonObject]"

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_EMBEDDED: Final[JsonObject] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}


class Compiled:
    """A schema ready for use on whole documents."""

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        self._node = node

    def clean(self, document: Any) -> list[str]:
        """Prunes and defaults `document` in place; returns the paths of the unknown fields."""
        unknown = self._node.clean(document)
        return [path_of(steps) for steps in unknown] if unknown else []

    def validate(self, document: Any) -> list[FieldError]:
        """Everything that is wrong with a cleaned document."""
        found = self._node.validate(document)
        return [problem.finish() for problem in found] if found else []


class Node:
    """One place of a schema, compiled when it is first reached: definitions may refer to themselves."""

    __slots__ = ("clean", "nullable", "plain", "trivial", "validate")

    clean: Cleaner
    validate: Check

    def __init__(self, compiler: _Compiler, schema: JsonObject) -> None:
        self.nullable = bool(schema.get("nullable"))
        reference = schema.get("$ref")
        self.plain = None if reference else _plain_type(schema)
        self.trivial = reference is None and schema.get("type") in SCALARS

        def build() -> None:
            compiler.build(self, schema)

        def clean_first(value: Any) -> Unknown:
            build()
            return self.clean(value)

        def validate_first(value: Any) -> Problems:
            build()
            return self.validate(value)

        self.clean = clean_first
        self.validate = validate_first


def compile(schema: JsonObject, resolve: Resolver | None = None, *, root: bool = True) -> Compiled:  # noqa: A001
    """Compiles `schema`; `$ref`s are resolved by name when first needed. A root gets Kubernetes' object metadata."""
    compiler = _Compiler(resolve or _no_definitions)
    if root:
        schema = _with_type_meta(schema, {"$ref": OBJECT_META} if resolve else {"type": "object", _PRESERVE: True})
    return Compiled(Node(compiler, schema))


_BESIDE_REFERENCES: Final = frozenset({"$ref", "description", "default"})
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"


def _no_definitions(name: str) -> JsonObject:
    raise SchemaError(f"the schema refers to {name!r}, but there are no definitions")


def _with_type_meta(schema: JsonObject, metadata: JsonObject) -> JsonObject:
    return {**schema, "properties": {**schema.get("properties", {}), **_EMBEDDED, "metadata": metadata}}


def _plain_type(schema: JsonObject) -> type | None:
    """The Python type that is all there is to check about a value, if so."""
    if schema.get("nullable") or schema.get("x-kubernetes-validations") or _junctions(schema) or checks_of(schema):
        return None
    return PLAIN.get(schema.get("type", ""))


def _junctions(schema: JsonObject) -> bool:
    return any(word in schema for word in ("allOf", "anyOf", "oneOf", "not")) and not is_int_or_string(schema)


class _Compiler:
    def __init__(self, resolve: Resolver) -> None:
        self._resolve = resolve
        self._named: dict[str, Node] = {}

    def node(self, schema: JsonObject) -> Node:
        """The node of a subschema; places that only refer to a definition share its node."""
        schema = _single_reference(schema)
        reference = schema.get("$ref")
        if reference is None or not schema.keys() <= _BESIDE_REFERENCES:
            return Node(self, schema)
        known = self._named.get(reference)
        if known is None:
            known = self._named[reference] = Node(self, schema)
        return known

    def build(self, node: Node, schema: JsonObject) -> None:
        schema = _single_reference(schema)
        reference = schema.get("$ref")
        if reference is not None:
            schema = {**self._resolve(reference.rpartition("/")[2]), **{k: v for k, v in schema.items() if k != "$ref"}}
        if schema.get("x-kubernetes-embedded-resource"):
            schema = _with_type_meta(schema, {"type": "object", _PRESERVE: True})
        match _shape(schema):
            case "object":
                node.clean, typed = self._object(schema)
            case "array":
                node.clean, typed = self._array(schema)
            case _:
                node.clean, typed = nothing_to_clean, scalar_check(schema)
        node.validate = combined(typed, self._further(schema), nullable=node.nullable)

    def _object(self, schema: JsonObject) -> tuple[Cleaner, Check]:
        properties: dict[str, Place] = {name: self.node(each) for name, each in schema.get("properties", {}).items()}
        extra = schema.get("additionalProperties")
        values = self.node(extra) if isinstance(extra, dict) else None
        keeps = bool(schema.get(_PRESERVE)) or extra is True
        if not properties and values is not None:
            return map_cleaner(values), map_check(values, typed=schema.get("type") == "object")
        defaults = tuple(
            (name, each["default"]) for name, each in schema.get("properties", {}).items() if "default" in each
        )
        cleaner = object_cleaner(properties, values, defaults, keeps=keeps)
        return cleaner, object_check(properties, values, tuple(schema.get("required", ())), schema)

    def _array(self, schema: JsonObject) -> tuple[Cleaner, Check]:
        items = self.node(schema.get("items", {}))
        return array_cleaner(items), array_check(items, list_checks(schema), typed="type" in schema)

    def _further(self, schema: JsonObject) -> list[Check]:
        """Checks beside those of the shape: choices of whole objects, numbers of fields, junctions, rules."""
        found = checks_of(schema) if _shape(schema) else []
        if "minProperties" in schema or "maxProperties" in schema:
            found.append(property_count(schema.get("minProperties", 0), schema.get("maxProperties")))
        if _junctions(schema):
            found.extend(self._junction_checks(schema))
        found.extend(rule_checks(schema))
        return found

    def _junction_checks(self, schema: JsonObject) -> list[Check]:
        found: list[Check] = []
        if "allOf" in schema:
            found.extend(all_of(self.node(each)) for each in schema["allOf"])
        if "anyOf" in schema:
            found.append(one_of([self.node(each) for each in schema["anyOf"]], "at least one schema (anyOf)", 10**9))
        if "oneOf" in schema:
            found.append(one_of([self.node(each) for each in schema["oneOf"]], "one and only one schema (oneOf)", 1))
        if "not" in schema:
            found.append(none_of(self.node(schema["not"])))
        return found


def _shape(schema: JsonObject) -> str:
    """Whether a schema is about objects or lists, said or implied; empty if about single values or anything."""
    kind = schema.get("type", "")
    if kind in ("object", "array"):
        return str(kind)
    if not kind and any(word in schema for word in ("properties", "additionalProperties", "required")):
        return "object"
    return "array" if not kind and "items" in schema else ""


def _single_reference(schema: JsonObject) -> JsonObject:
    """OpenAPI v3 wraps a reference with siblings into allOf; this takes it out again."""
    parts = schema.get("allOf")
    if parts and len(parts) == 1 and list(parts[0]) == ["$ref"]:
        return {**{word: value for word, value in schema.items() if word != "allOf"}, **parts[0]}
    return schema
