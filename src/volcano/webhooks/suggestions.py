"""What the writer of a manifest may have meant: near names of fields and kinds."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

from volcano.api import builtin_schemas
from volcano.api.crds import EMBEDDED_META, OBJECT_META, referring_schema
from volcano.api.meta import JsonObject
from volcano.api.resources import ALL_VOLCANO, Resource


def suggestion(word: str, known: Iterable[str]) -> str:
    """`did you mean "tasks"?`, or nothing when no known word is near."""
    lowered = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.7)
    return f'did you mean "{lowered[near[0]]}"?' if near else ""


def fields_at(resource: Resource[Any], path: str) -> frozenset[str]:
    """Names of the fields that the object at `path` (such as spec.tasks[0]) may have."""
    node = _root(resource)
    for step in filter(None, re.split(r"\.|\[\d+\]", path)):
        node = _below(node, step)
    return frozenset(_resolved(node).get("properties", ()))


def _root(resource: Resource[Any]) -> JsonObject:
    if resource in ALL_VOLCANO:
        schema = referring_schema(resource)
        return {**schema, "properties": {**schema["properties"], "metadata": {"$ref": OBJECT_META}}}
    return {"$ref": builtin_schemas.definition_name(resource.group, resource.version, resource.kind)}


def _below(node: JsonObject, step: str) -> JsonObject:
    """The schema of field `step`, past the items when it is a list."""
    node = _resolved(node)
    below = node.get("properties", {}).get(step) or node.get("additionalProperties") or {}
    below = _resolved(below if isinstance(below, dict) else {})
    items = below.get("items")
    return items if isinstance(items, dict) else below


def _resolved(node: JsonObject) -> JsonObject:
    reference = str(node.get("$ref", "")).rpartition("/")[2]
    if not reference:
        [single] = all_of if len(all_of := node.get("allOf", [])) == 1 else [None]
        return _resolved(single) if single and "$ref" in single else node
    definitions = builtin_schemas.load()
    known = definitions.get(OBJECT_META if reference == EMBEDDED_META else reference)
    return known or {}
