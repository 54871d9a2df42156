"""Collects JSON Patch operations and keeps the patched document beside them.

Used by the mutating rules; the original document is never touched (copy on write along the path).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.webhooks.rules.model import ALLOWED, AdmissionResponse

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject


class Edits:
    """A document under edit: `add` and `replace` set one value and record one operation."""

    __slots__ = ("document", "operations")

    def __init__(self, document: JsonObject) -> None:
        self.document = document
        self.operations: list[JsonObject] = []

    def add(self, value: Any, *path: str) -> None:
        self._write("add", value, path)

    def replace(self, value: Any, *path: str) -> None:
        self._write("replace", value, path)

    def append(self, value: Any, *path: str) -> None:
        """Add to the end of the list at `path`."""
        parent = self._open(path[:-1])
        parent[path[-1]] = [*parent[path[-1]], value]
        self.operations.append({"op": "add", "path": f"{pointer(path)}/-", "value": value})

    def response(self) -> AdmissionResponse:
        if not self.operations:
            return ALLOWED
        return AdmissionResponse(patch=tuple(self.operations), object=self.document)

    def _write(self, operation: str, value: Any, path: tuple[str, ...]) -> None:
        self._open(path[:-1])[path[-1]] = value
        self.operations.append({"op": operation, "path": pointer(path), "value": value})

    def _open(self, path: tuple[str, ...]) -> JsonObject:
        """A private copy of the mapping at `path`; mappings that do not exist are added, also to the patch."""
        self.document = current = dict(self.document)
        for depth, token in enumerate(path, 1):
            inner = current.get(token)
            if inner is None:
                inner = {}
                self.operations.append({"op": "add", "path": pointer(path[:depth]), "value": {}})
            current[token] = current = dict(inner)
        return current


def pointer(path: tuple[str, ...]) -> str:
    """The JSON Pointer of `path` (RFC 6901)."""
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in path)
