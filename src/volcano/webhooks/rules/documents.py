"""Reading raw documents: a value of the wanted type, or an empty one.

Wrong types are the schema's to report; the rules must only not stumble over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject


def mapping(document: JsonObject, key: str) -> JsonObject:
    inner = document.get(key)
    return inner if isinstance(inner, dict) else {}


def mappings(document: JsonObject, key: str) -> Sequence[JsonObject]:
    """The list of objects at `key`; anything else in the list reads as an empty object, so that indices stay right."""
    inner = document.get(key)
    if not isinstance(inner, list):
        return ()
    return [item if isinstance(item, dict) else {} for item in inner]


def text(document: JsonObject, key: str) -> str:
    inner = document.get(key)
    return inner if isinstance(inner, str) else ""


def number(document: JsonObject, key: str) -> int | None:
    inner = document.get(key)
    return inner if type(inner) is int else None


def strings(document: JsonObject, key: str) -> Sequence[str]:
    inner: Any = document.get(key)
    return [item for item in inner if isinstance(item, str)] if isinstance(inner, list) else ()
