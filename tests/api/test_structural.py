"""Schemas of users are checked before any object meets them."""

from __future__ import annotations

from typing import Any

import pytest

from volcano.api import builtin_schemas, crds, schema
from volcano.api.resources import ALL_VOLCANO

PATH = "schema"


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({}, 'schema.type: Invalid value: "": must be object at the root'),
        (
            of(a={"description": "x"}),
            "schema.properties[a].type: Required value: must not be empty for specified object fields",
        ),
        (of(a={"type": "array"}), "schema.properties[a].items: Required value: must be specified"),
        (of(a={"type": "string", "pattern": "("}), "schema.properties[a].pattern: Invalid value"),
        (of(a={"type": "text"}), 'schema.properties[a].type: Unsupported value: "text"'),
        (of(a={"$ref": "#/x", "type": "object"}), "schema.properties[a].$ref: Forbidden"),
        (
            of(a={**of(b={"type": "string"}), "additionalProperties": {"type": "string"}}),
            "schema.properties[a].additionalProperties: Forbidden",
        ),
        (
            of(a={"type": "array", "items": of(), "x-kubernetes-list-type": "map"}),
            "schema.properties[a].x-kubernetes-list-map-keys: Required value",
        ),
        (
            of(a={"type": "array", "items": of(), "x-kubernetes-list-type": "bag"}),
            "schema.properties[a].x-kubernetes-list-type: Unsupported value",
        ),
        (of(a=of(b={"type": "integer", "default": "x"})), "schema.properties[a].properties[b].default: Invalid value"),
    ],
)
def test_what_is_refused(node: dict[str, Any], expected: str) -> None:
    errors = schema.structural_errors(node, PATH)

    assert len(errors) == 1
    assert str(errors[0]).startswith(expected)


@pytest.mark.parametrize("resource", ALL_VOLCANO, ids=lambda resource: resource.group_resource)
def test_our_own_schemas_are_structural(resource) -> None:
    assert schema.structural_errors(crds.object_schema(resource, builtin_schemas.load()), PATH) == []
