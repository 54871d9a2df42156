"""A step's patch on a template: fields replace fields, tasks, containers and the like are matched by name.

Pure. The API server fills defaults into patches (queue, maxRetry, …): what equals a default was not meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from volcano.api import crds, resources
from volcano.api.meta import JsonObject

IDENTITIES: Final = ("name", "mountPath")
"""The field that tells the items of a list apart: of tasks, containers, variables; of volumes."""
_PATCH_PATH: Final = ("spec", "flows", "[]", "patch", "jobSpec")


def patched(spec: JsonObject, patch: JsonObject) -> JsonObject:
    """`spec` with the fields of `patch`."""
    merged: JsonObject = _merged(spec, without_defaults(patch, _patch_schema()))
    return merged


def without_defaults(value: Any, schema: Mapping[str, Any]) -> Any:
    """`value` without the fields that hold what `schema` fills in where nothing is said."""
    if isinstance(value, dict):
        properties: Mapping[str, Any] = schema.get("properties") or {}
        return {
            key: without_defaults(item, properties.get(key, {}))
            for key, item in value.items()
            if key not in properties or item != properties[key].get("default")
        }
    if isinstance(value, list):
        return [without_defaults(item, schema.get("items") or {}) for item in value]
    return value


def _merged(base: Any, patch: Any) -> Any:
    if isinstance(base, dict) and isinstance(patch, dict):
        return {**base, **{key: _merged(base.get(key), item) for key, item in patch.items()}}
    if isinstance(base, list) and isinstance(patch, list):
        identity = next((field for field in IDENTITIES if _all_have(field, base) and _all_have(field, patch)), None)
        return _merged_by(identity, base, patch) if identity else patch
    return patch


def _all_have(field: str, items: list[Any]) -> bool:
    return all(isinstance(item, dict) and field in item for item in items)


def _merged_by(identity: str, base: list[JsonObject], patch: list[JsonObject]) -> list[JsonObject]:
    changes = {item[identity]: item for item in patch}
    kept = [_merged(item, changes.pop(item[identity])) if item[identity] in changes else item for item in base]
    return [*kept, *changes.values()]


@lru_cache(maxsize=1)
def _patch_schema() -> Mapping[str, Any]:
    node: Mapping[str, Any] = crds.referring_schema(resources.JOB_FLOWS)
    for part in _PATCH_PATH:
        node = node["items"] if part == "[]" else node["properties"][part]
    return node
