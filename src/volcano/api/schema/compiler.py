"""From a schema to closures. Each node has `clean` (drop nulls and unknown fields, fill in defaults) and `validate`.

Both return None when there is nothing to report, so that a good document costs a few look-ups per field.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from volcano.api.schema import errors
from volcano.api.schema.errors import FieldError, Problem, Problems, SchemaError, path_of, under
from volcano.api.schema.lists import list_checks
from volcano.api.schema.rules import rule_checks
from volcano.api.schema.scalars import SCALARS, Check, checks_of, is_of_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from volcano.api.meta import JsonObject
    from volcano.api.schema.errors import Step

Resolver: TypeAlias = "Callable[[str], JsonObject]"
Unknown: TypeAlias = "list[list[Step]] | None"
Cleaner: TypeAlias = "Callable[[Any], Unknown]"

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_EMBEDDED: Final[JsonObject] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
_PLAIN: Final = {"string": str, "boolean": bool}


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


_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"


def _no_definitions(name: str) -> JsonObject:
    raise SchemaError(f"the schema refers to {name!r}, but there are no definitions")


def _with_type_meta(schema: JsonObject, metadata: JsonObject) -> JsonObject:
    return {**schema, "properties": {**schema.get("properties", {}), **_EMBEDDED, "metadata": metadata}}


def _plain_type(schema: JsonObject) -> type | None:
    """The Python type that is all there is to check about a value, if so."""
    if schema.get("nullable") or schema.get("x-kubernetes-validations") or _junctions(schema) or checks_of(schema):
        return None
    return _PLAIN.get(schema.get("type", ""))


def _junctions(schema: JsonObject) -> bool:
    return any(word in schema for word in ("allOf", "anyOf", "oneOf", "not")) and not _is_int_or_string(schema)


def _is_int_or_string(schema: JsonObject) -> bool:
    return bool(schema.get("x-kubernetes-int-or-string"))


class _Compiler:
    def __init__(self, resolve: Resolver) -> None:
        self._resolve = resolve
        self._named: dict[str, Node] = {}

    def node(self, schema: JsonObject) -> Node:
        """The node of a subschema; plain references to one definition share one node."""
        schema = _single_reference(schema)
        reference = schema.get("$ref")
        if reference is None or any(word in schema for word in ("default", "nullable", "x-kubernetes-map-type")):
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
        kind = schema.get("type", "")
        if kind == "object" or (not kind and ("properties" in schema or "additionalProperties" in schema)):
            node.clean, typed = self._object(schema)
        elif kind == "array":
            node.clean, typed = self._array(schema)
        else:
            node.clean, typed = _nothing_to_clean, _scalar(schema)
        node.validate = _combined(typed, self._further(schema), nullable=node.nullable)

    def _object(self, schema: JsonObject) -> tuple[Cleaner, Check]:
        properties = {name: self.node(each) for name, each in schema.get("properties", {}).items()}
        extra = schema.get("additionalProperties")
        values = self.node(extra) if isinstance(extra, dict) else None
        keeps = bool(schema.get(_PRESERVE)) or extra is True
        if not properties and values is not None:
            return _map_cleaner(values), _map_check(values, typed=schema.get("type") == "object")
        defaults = tuple(
            (name, each["default"]) for name, each in schema.get("properties", {}).items() if "default" in each
        )
        cleaner = _object_cleaner(properties, values, defaults, keeps=keeps)
        return cleaner, _object_check(properties, values, tuple(schema.get("required", ())), schema)

    def _array(self, schema: JsonObject) -> tuple[Cleaner, Check]:
        items = self.node(schema.get("items", {}))
        return _array_cleaner(items), _array_check(items, list_checks(schema))

    def _further(self, schema: JsonObject) -> list[Check]:
        """Checks of any type: bounds on size, junctions, rules."""
        found = checks_of(schema) if schema.get("type") not in SCALARS and not _is_int_or_string(schema) else []
        if "minProperties" in schema or "maxProperties" in schema:
            found.append(_property_count(schema.get("minProperties", 0), schema.get("maxProperties")))
        if _junctions(schema):
            found.extend(self._junction_checks(schema))
        found.extend(rule_checks(schema))
        return found

    def _junction_checks(self, schema: JsonObject) -> list[Check]:
        found: list[Check] = []
        if "allOf" in schema:
            found.extend(self.node(each).validate for each in schema["allOf"])
        if "anyOf" in schema:
            found.append(_one_of([self.node(each) for each in schema["anyOf"]], "at least one schema (anyOf)", 10**9))
        if "oneOf" in schema:
            found.append(_one_of([self.node(each) for each in schema["oneOf"]], "one and only one schema (oneOf)", 1))
        if "not" in schema:
            found.append(_none_of(self.node(schema["not"])))
        return found


def _single_reference(schema: JsonObject) -> JsonObject:
    """OpenAPI v3 wraps a reference with siblings into allOf; this takes it out again."""
    parts = schema.get("allOf")
    if parts and len(parts) == 1 and list(parts[0]) == ["$ref"]:
        return {**{word: value for word, value in schema.items() if word != "allOf"}, **parts[0]}
    return schema


def _nothing_to_clean(value: Any) -> Unknown:  # noqa: ARG001 - every cleaner has the same shape
    return None


def _combined(typed: Check, further: list[Check], *, nullable: bool) -> Check:
    if not further and not nullable:
        return typed

    def validate(value: Any) -> Problems:
        if value is None and nullable:
            return None
        found = typed(value)
        for check in further:
            more = check(value)
            if more:
                found = [*(found or ()), *more]
        return found

    return validate


def _scalar(schema: JsonObject) -> Check:
    checks = checks_of(schema)
    kind = schema.get("type", "")
    if _is_int_or_string(schema):
        return _int_or_string(checks)
    plain = _PLAIN.get(kind)

    def validate(value: Any) -> Problems:
        if type(value) is not plain and not is_of_type(value, kind):
            return [errors.wrong_type(value, kind)]
        found: Problems = None
        for check in checks:
            more = check(value)
            if more:
                found = more if found is None else [*found, *more]
        return found

    return validate


def _int_or_string(checks: list[Check]) -> Check:
    def validate(value: Any) -> Problems:
        if isinstance(value, bool) or not isinstance(value, int | str):
            if isinstance(value, float) and value.is_integer():
                return None
            return [errors.wrong_type(value, "integer,string")]
        for check in checks:
            found = check(value)
            if found:
                return found
        return None

    return validate


def _object_check(
    properties: dict[str, Node], values: Node | None, required: tuple[str, ...], schema: JsonObject
) -> Check:
    plain = {name: node.plain for name, node in properties.items() if node.plain is not None}
    typed = schema.get("type") == "object"

    def validate(value: Any) -> Problems:
        if type(value) is not dict:
            return [errors.wrong_type(value, "object")] if typed else None
        found: Problems = None
        for name, item in value.items():
            if plain.get(name) is type(item):
                continue
            child = properties.get(name, values)
            if child is not None:
                more = child.validate(item)
                if more:
                    found = under(name, more, found)
        for name in required:
            if name not in value:
                found = [*(found or ()), errors.required(name)]
        return found

    return validate


def _object_cleaner(
    properties: dict[str, Node], values: Node | None, defaults: tuple[tuple[str, Any], ...], *, keeps: bool
) -> Cleaner:
    leaves = frozenset(name for name, node in properties.items() if node.trivial)
    nullable = frozenset(name for name, node in properties.items() if node.nullable)

    def clean(value: Any) -> Unknown:
        if type(value) is not dict:
            return None
        for name, default in defaults:
            if value.get(name) is None and not (name in nullable and name in value):
                value[name] = copy.deepcopy(default) if isinstance(default, dict | list) else default
        found: Unknown = None
        dropped: list[str] | None = None
        for name, item in value.items():
            if name in leaves and item is not None:
                continue
            child = properties.get(name, values)
            if child is None:
                if not keeps:
                    dropped = [*(dropped or ()), name]
                    found = [*(found or ()), [name]]
            elif item is None:
                if not child.nullable:
                    dropped = [*(dropped or ()), name]
            else:
                more = child.clean(item)
                if more:
                    found = _under(name, more, found)
        for name in dropped or ():
            del value[name]
        return found

    return clean


def _map_check(values: Node, *, typed: bool) -> Check:
    plain = values.plain

    def validate(value: Any) -> Problems:
        if type(value) is not dict:
            return [errors.wrong_type(value, "object")] if typed else None
        found: Problems = None
        for name, item in value.items():
            if type(item) is plain:
                continue
            more = values.validate(item)
            if more:
                found = under(name, more, found)
        return found

    return validate


def _map_cleaner(values: Node) -> Cleaner:
    trivial = values.trivial
    nullable = values.nullable

    def clean(value: Any) -> Unknown:
        if type(value) is not dict:
            return None
        if not nullable and None in value.values():
            for name in [name for name, item in value.items() if item is None]:
                del value[name]
        found: Unknown = None
        if not trivial:
            for name, item in value.items():
                more = values.clean(item)
                if more:
                    found = _under(name, more, found)
        return found

    return clean


def _array_check(items: Node, checks: list[Check]) -> Check:
    plain = items.plain

    def validate(value: Any) -> Problems:
        if type(value) is not list:
            return [errors.wrong_type(value, "array")]
        found: Problems = None
        for index, item in enumerate(value):
            if type(item) is plain:
                continue
            more = items.validate(item)
            if more:
                found = under(index, more, found)
        for check in checks:
            more = check(value)
            if more:
                found = [*(found or ()), *more]
        return found

    return validate


def _array_cleaner(items: Node) -> Cleaner:
    if items.trivial:
        return _nothing_to_clean

    def clean(value: Any) -> Unknown:
        if type(value) is not list:
            return None
        found: Unknown = None
        for index, item in enumerate(value):
            more = items.clean(item)
            if more:
                found = _under(index, more, found)
        return found

    return clean


def _under(step: Step, unknown: list[list[Step]], into: Unknown) -> list[list[Step]]:
    for steps in unknown:
        steps.append(step)
    return unknown if into is None else into + unknown


def _property_count(least: int, most: int | None) -> Check:
    def check(value: Any) -> Problems:
        if not isinstance(value, dict):
            return None
        if len(value) < least:
            return [errors.invalid(len(value), f"\0 in body should have at least {least} properties")]
        if most is not None and len(value) > most:
            return [errors.too_many(len(value), most)]
        return None

    return check


def _one_of(nodes: list[Node], words: str, most: int) -> Check:
    def check(value: Any) -> Problems:
        matching = sum(1 for node in nodes if not node.validate(value))
        return None if 1 <= matching <= most else [_no_match(words)]

    return check


def _none_of(node: Node) -> Check:
    def check(value: Any) -> Problems:
        return [_no_match("the schema (not)", "must not validate")] if not node.validate(value) else None

    return check


def _no_match(words: str, verb: str = "must validate") -> Problem:
    return Problem("FieldValueInvalid", f'Invalid value: "": "\0" {verb} {words}')
