"""From manifests to the typed objects of a small world, or an error that names the object and the field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from volcano.api.meta import JsonObject
from volcano.api.resources import ALL_KUBERNETES, ALL_VOLCANO, JOBS, Resource

RESOURCES: Final = {(resource.api_version, resource.kind): resource for resource in (*ALL_KUBERNETES, *ALL_VOLCANO)}


class ObjectError(ValueError):
    """A manifest that is not an object of its kind, or given twice."""


@dataclass(frozen=True, slots=True)
class Given:
    """One object of the input: what it is, as written and as understood."""

    resource: Resource[Any]
    document: JsonObject
    object: Any

    @property
    def name(self) -> str:
        return f"{self.resource.kind} {self.object.metadata.key}"


def read(documents: Iterable[JsonObject], namespace: str) -> list[Given]:
    """Every document that the scheduler may want to see; a vcjob stays as written until it is admitted."""
    found: dict[tuple[str, str], Given] = {}
    for document in documents:
        resource = RESOURCES.get((document.get("apiVersion", ""), document.get("kind", "")))
        if resource is None or resource.type is dict:
            continue
        placed = _placed(document, resource, namespace)
        given = Given(resource, placed, _typed(placed, resource))
        key = (resource.group_resource, given.object.metadata.key)
        if key in found:
            raise ObjectError(f"{given.name} is given twice: each object may occur once")
        found[key] = given
    return list(found.values())


def is_job(given: Given) -> bool:
    return given.resource is JOBS


def _placed(document: JsonObject, resource: Resource[Any], namespace: str) -> JsonObject:
    metadata = document.get("metadata") or {}
    if not isinstance(metadata, dict) or not resource.namespaced or metadata.get("namespace"):
        return document
    return {**document, "metadata": {**metadata, "namespace": namespace}}


def _typed(document: JsonObject, resource: Resource[Any]) -> Any:
    try:
        return msgspec.convert(_without_nulls(document), resource.type)
    except msgspec.ValidationError as error:
        name = (document.get("metadata") or {}).get("name", "")
        raise ObjectError(f"{resource.kind} {name!r}: {error}") from error


def _without_nulls(value: Any) -> Any:
    """Null is absent, as the API server has it."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value
