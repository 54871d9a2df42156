"""Objects of the API from wherever they come: documents, YAML, our types, and those of other client libraries.

`Typed` edits one through our types without losing what these do not know.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from volcano.api.meta import JsonObject, without_nulls
from volcano.kube import manifests
from volcano.sdk.errors import WrongArgument

__all__ = ["Typed", "looks_like_yaml", "plain", "read"]

T = TypeVar("T", bound=msgspec.Struct)

_MANIFEST = re.compile(r"^\s*(apiVersion|kind)\s*:", re.MULTILINE)


def looks_like_yaml(text: str) -> bool:
    """Whether a text is a manifest rather than a command line."""
    return len({found[1] for found in _MANIFEST.finditer(text)}) == 2


def read(source: Any) -> list[JsonObject]:
    """The documents of a manifest, a file, or an object of any client library."""
    try:
        if isinstance(source, Path):
            return manifests.load_paths([source])
        if isinstance(source, str):
            return manifests.load(source)
    except manifests.ManifestError as error:
        raise WrongArgument(str(error)) from error
    return [plain(source)]


def plain(source: Any) -> JsonObject:
    """The document of an object; TypeError for what is none."""
    if isinstance(source, Typed):
        return source.document()
    if isinstance(source, msgspec.Struct):
        built: JsonObject = msgspec.to_builtins(source)
        return built
    if isinstance(raw := getattr(source, "raw", None), Mapping):  # kr8s
        return copy.deepcopy(dict(raw))
    if hasattr(source, "attribute_map"):  # kubernetes, kubernetes_asyncio
        return _of_generated(source)  # type: ignore[no-any-return]
    if callable(to_dict := getattr(source, "to_dict", None)):  # lightkube
        return without_nulls(to_dict())  # type: ignore[no-any-return]
    if isinstance(source, Mapping):
        return {key: _of_generated(value) for key, value in source.items()}
    raise TypeError(f"a {type(source).__name__} is no object of the API: give a document, YAML, or a model")


def _of_generated(value: Any) -> Any:
    """Generated models name their attributes in Python's way and know what the API calls them."""
    if hasattr(value, "attribute_map"):
        named = {key: getattr(value, attribute) for attribute, key in value.attribute_map.items()}
        return {key: _of_generated(item) for key, item in named.items() if item is not None}
    if isinstance(value, Mapping):
        return {key: _of_generated(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_of_generated(item) for item in value]
    return msgspec.to_builtins(value) if hasattr(value, "isoformat") else value


class Typed(Generic[T]):
    """A document seen through a type: change `value`, and `document()` has the changes and all that it had before.

    job = Typed(Job, document)
    job.value.spec.queue = "night"
    """

    def __init__(self, kind: type[T], source: Any) -> None:
        (self._original,) = read(source)
        self.value: T = msgspec.convert(self._original, kind)
        self._before = msgspec.to_builtins(self.value)

    def document(self, upon: JsonObject | None = None) -> JsonObject:
        """The document with the changes; or another state of it, `upon` which they are made."""
        merged: JsonObject = _merged(upon or self._original, self._before, msgspec.to_builtins(self.value))
        return merged

    def __repr__(self) -> str:
        return f"Typed({self.value!r})"


def _merged(original: Any, before: Any, after: Any) -> Any:
    """`original` with what changed between two views of it. Items of lists are the same where their names are."""
    if before == after:
        return copy.deepcopy(original)
    if isinstance(original, dict) and isinstance(before, dict) and isinstance(after, dict):
        kept = {key: value for key, value in original.items() if key in after or key not in before}
        changed = {
            key: _merged(original.get(key), before.get(key), value)
            for key, value in after.items()
            if key in original or value != before.get(key)
        }
        return {**copy.deepcopy(kept), **changed}
    lists = isinstance(original, list) and isinstance(before, list) and isinstance(after, list)
    if lists and len(original) == len(before):
        known = dict(zip(_identities(before), zip(original, before, strict=True), strict=True))
        unknown = (None, None)
        merged = []
        for key, item in zip(_identities(after), after, strict=True):
            origin, seen = known.get(key, unknown)
            merged.append(_merged(origin, seen, item))
        return merged
    return after


def _identities(items: list[Any]) -> list[Any]:
    """What tells the items of a list apart: their names where each has one of its own, else their places."""
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    return names if all(names) and len(set(names)) == len(names) else list(range(len(items)))
