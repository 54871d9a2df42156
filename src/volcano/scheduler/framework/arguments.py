"""Arguments of plugins and actions: from the free map of the conf file into typed structs, with warnings.

A value of the wrong type keeps the default, as upstream does; unlike upstream it is never silent and never fatal.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
REST = "rest"
"""A field of this name takes the keys that start with one of the struct's `prefixes`."""


class WrongTypeError(ValueError):
    pass


def decode(struct: type[T], values: Mapping[str, Any], owner: str) -> tuple[T, list[str]]:
    """The struct, and what is wrong with the given values. `owner` names the plugin or action in messages."""
    warnings: list[str] = []
    hints, fields = _shape(struct)
    prefixes: tuple[str, ...] = getattr(struct, "prefixes", ())
    known: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for key, value in values.items():
        info = fields.get(key)
        if info is None and key.startswith(prefixes) and prefixes:
            rest[key] = value
        elif info is None:
            warnings.append(f"{owner}: argument {key!r} is not known and has no effect{suggest(key, fields)}")
        elif value is not None:
            try:
                known[info.name] = coerce(value, hints[info.name])
            except WrongTypeError as problem:
                warnings.append(f"{owner}: argument {key!r} is {value!r}, but {problem}; the default stays")
    if prefixes:
        known[REST] = rest
    return struct(**known), warnings


@lru_cache(maxsize=256)
def _shape(struct: type[msgspec.Struct]) -> tuple[dict[str, Any], dict[str, msgspec.structs.FieldInfo]]:
    """Types by attribute, and fields by their names in the conf file. Every cycle asks, and finding out is slow."""
    fields = {info.encode_name: info for info in msgspec.structs.fields(struct) if info.name != REST}
    return get_type_hints(struct), fields


def coerce(value: Any, wanted: Any) -> Any:
    """`value` as upstream's readers take it: no quoted numbers, an integer for a float, a boolean as text."""
    if get_origin(wanted) in (Union, types.UnionType):
        return coerce(value, next(kind for kind in get_args(wanted) if kind is not type(None)))
    if wanted is bool:
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in _TRUE + _FALSE:
            return value in _TRUE
        raise WrongTypeError("true or false is wanted")
    if wanted is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise WrongTypeError("a whole number without quotes is wanted")
    if wanted is float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        raise WrongTypeError("a number without quotes is wanted")
    if wanted is str:
        if isinstance(value, str):
            return value
        raise WrongTypeError("a string is wanted")
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as problem:
        raise WrongTypeError(str(problem)) from problem


def suggest(word: str, known: Any) -> str:
    """`: did you mean 'x'?`, or nothing when no known word is near."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f": did you mean {near[0]!r}?" if near else ""
