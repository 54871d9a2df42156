"""Narrow types: objects of a kind in which what nobody reads is not decoded, and costs nothing.

An instance is one of the original kind, too: fields that were not wanted are there and empty.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Mapping
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

Wanted = Mapping[str, Any]
"""Attribute names; each maps to what is wanted below it, or to None for all of it."""

_NOTHING: Final[Mapping[str, Any]] = types.MappingProxyType({})


def narrowed(kind: type[T], wanted: Wanted) -> type[T]:
    """A subclass of `kind` that reads the wanted fields only."""
    known = msgspec.structs.fields(kind)
    unknown = wanted.keys() - {field.name for field in known}
    if unknown:
        raise ValueError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    changed: list[tuple[str, Any, Any]] = []
    for field in known:
        if field.name not in wanted:
            unread = msgspec.field(default=_empty(field), name=f"(not read) {field.name}")
            changed.append((field.name, Any, unread))
        elif wanted[field.name] is not None:
            annotation = _below(field.type, wanted[field.name])
            changed.append((field.name, annotation, _default(field, wanted[field.name])))
    narrow = msgspec.defstruct(kind.__name__, changed, bases=(kind,), kw_only=True, omit_defaults=True, gc=False)
    return cast("type[T]", narrow)


def _below(annotation: Any, wanted: Wanted) -> Any:
    """The annotation with the struct types in it narrowed."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return narrowed(annotation, wanted)
    parts = tuple(_below(part, wanted) for part in get_args(annotation))
    if not parts:
        return annotation
    origin = get_origin(annotation)
    return functools.reduce(operator.or_, parts) if origin in (types.UnionType, Union) else origin[parts]


def _default(field: msgspec.structs.FieldInfo, wanted: Wanted) -> Any:
    factory = field.default_factory
    if factory is msgspec.NODEFAULT:
        return msgspec.field(default=field.default, name=field.encode_name)
    return msgspec.field(default_factory=_below(factory, wanted), name=field.encode_name)


def _empty(field: msgspec.structs.FieldInfo) -> Any:
    """The default, one for all objects."""
    if field.default_factory is msgspec.NODEFAULT:
        return field.default
    return {list: (), dict: _NOTHING}.get(field.default_factory)
