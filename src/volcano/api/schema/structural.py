"""Whether a schema that a user hands in can be used: Kubernetes' rules for structural schemas.

Checked once, when a CustomResourceDefinition is written, so that no object ever meets an unusable schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from volcano.api.schema.compiler import compile as compile_schema
from volcano.api.schema.errors import FieldError, SchemaError, shown
from volcano.api.schema.scalars import compile_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.api.meta import JsonObject

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES: Final = ("atomic", "map", "set")
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_UNSUPPORTED: Final = ("$ref", "definitions", "dependencies", "id", "patternProperties", "deprecated", "discriminator")


def structural_errors(schema: JsonObject, path: str) -> list[FieldError]:
    """What keeps `schema`, found at `path`, from being the schema of a kind."""
    if schema.get("type") != "object":
        return [_invalid(f"{path}.type", schema.get("type", ""), "must be object at the root")]
    found = list(_errors(schema, path))
    return found or list(_default_errors(schema, path))


def _errors(schema: JsonObject, path: str) -> Iterator[FieldError]:
    yield from _type_errors(schema, path)
    yield from _word_errors(schema, path)
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    if properties and extra not in (None, False):
        yield _forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")
    for name, each in properties.items():
        yield from _errors(each, f"{path}.properties[{name}]")
    if isinstance(extra, dict):
        yield from _errors(extra, f"{path}.additionalProperties")
    if isinstance(schema.get("items"), dict):
        yield from _errors(schema["items"], f"{path}.items")


def _type_errors(schema: JsonObject, path: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    free = schema.get("x-kubernetes-int-or-string") or schema.get(_PRESERVE)
    if not kind:
        if not free:
            yield FieldError(
                f"{path}.type", "FieldValueRequired", "Required value: must not be empty for specified object fields"
            )
    elif kind not in _TYPES:
        allowed = ", ".join(shown(each) for each in _TYPES)
        body = f"Unsupported value: {shown(kind)}: supported values: {allowed}"
        yield FieldError(f"{path}.type", "FieldValueNotSupported", body)
    elif schema.get("x-kubernetes-int-or-string"):
        yield _invalid(f"{path}.type", kind, "must be empty if x-kubernetes-int-or-string is true")
    if kind == "array" and not isinstance(schema.get("items"), dict):
        yield FieldError(f"{path}.items", "FieldValueRequired", "Required value: must be specified")


def _word_errors(schema: JsonObject, path: str) -> Iterator[FieldError]:
    for word in _UNSUPPORTED:
        if schema.get(word):
            yield _forbidden(f"{path}.{word}", f"{word} is not supported")
    if schema.get("uniqueItems"):
        yield _forbidden(f"{path}.uniqueItems", "uniqueItems cannot be set to true since the runtime complexity is bad")
    try:
        compile_pattern(schema.get("pattern", ""))
    except SchemaError as error:
        yield _invalid(f"{path}.pattern", schema["pattern"], str(error))
    yield from _list_errors(schema, path)


def _list_errors(schema: JsonObject, path: str) -> Iterator[FieldError]:
    list_type = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or []
    if list_type is None:
        return
    if list_type not in _LIST_TYPES:
        allowed = ", ".join(shown(each) for each in _LIST_TYPES)
        body = f"Unsupported value: {shown(list_type)}: supported values: {allowed}"
        yield FieldError(f"{path}.x-kubernetes-list-type", "FieldValueNotSupported", body)
    if list_type == "map" and not keys:
        body = "Required value: must not be empty if x-kubernetes-list-type is map"
        yield FieldError(f"{path}.x-kubernetes-list-map-keys", "FieldValueRequired", body)
    known = (schema.get("items") or {}).get("properties") or {}
    for index, key in enumerate(keys):
        if key not in known:
            yield _invalid(f"{path}.x-kubernetes-list-map-keys[{index}]", key, "must be a property of the items")


def _default_errors(schema: JsonObject, path: str) -> Iterator[FieldError]:
    """Defaults that the schema itself would refuse."""
    if "default" in schema:
        for error in compile_schema(schema, root=False).validate(schema["default"]):
            where = f"{path}.default{'.' if error.path else ''}{error.path}"
            yield FieldError(where, error.reason, error.body)
    for name, each in (schema.get("properties") or {}).items():
        yield from _default_errors(each, f"{path}.properties[{name}]")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from _default_errors(schema[word], f"{path}.{word}")


def _invalid(path: str, value: Any, words: str) -> FieldError:
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {shown(value)}: {words}")


def _forbidden(path: str, words: str) -> FieldError:
    return FieldError(path, "FieldValueForbidden", f"Forbidden: {words}")
