"""OpenAPI v3 documents hold what kubectl reads: schemas, kinds, patch types and the fieldValidation parameter."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from volcano.api import builtin_schemas
from volcano.api.resources import ALL_KUBERNETES, ALL_VOLCANO, JOBS
from volcano.local.apiserver.catalog.openapi import OpenApi

RESOURCES = (*ALL_KUBERNETES, *ALL_VOLCANO)
VERSIONS = sorted({(resource.group, resource.version) for resource in RESOURCES})


@pytest.fixture
def openapi() -> OpenApi:
    return OpenApi(builtin_schemas.load())


def references(node: Any) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(references, node))
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*map(references, node.values()))
    return set()


@pytest.mark.parametrize("version", VERSIONS, ids="/".join)
def test_every_document_is_complete(openapi: OpenApi, version: tuple[str, str]) -> None:
    document = json.loads(openapi.document(*version, RESOURCES))
    schemas = document["components"]["schemas"]

    assert {f"#/components/schemas/{name}" for name in schemas} >= references(document)
    kinds = {kind["kind"] for each in schemas.values() for kind in each.get("x-kubernetes-group-version-kind", ())}
    assert kinds >= {each.kind for each in RESOURCES if (each.group, each.version) == version}


def test_the_operations_say_kind_patches_and_field_validation(openapi: OpenApi) -> None:
    paths = json.loads(openapi.document("", "v1", RESOURCES))["paths"]

    patch = paths["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]

    assert patch["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Pod"}
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    assert [parameter["name"] for parameter in patch["parameters"]] == ["fieldValidation"]
    assert "/api/v1/nodes/{name}" in paths


def test_custom_kinds_take_no_strategic_patches(openapi: OpenApi) -> None:
    document = json.loads(openapi.document("batch.volcano.sh", "v1alpha1", RESOURCES))

    path = document["paths"]["/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs/{name}"]

    assert "application/strategic-merge-patch+json" not in path["patch"]["requestBody"]["content"]
    assert "application/merge-patch+json" in path["patch"]["requestBody"]["content"]


def test_merge_keys_list_types_and_descriptions_are_published(openapi: OpenApi) -> None:
    schemas = json.loads(openapi.document("", "v1", RESOURCES))["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]

    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert "containers" in containers["description"]
    affinity = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["affinity"]
    assert affinity["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Affinity"}]


def test_our_kinds_are_described_and_embed_kubernetes_own(openapi: OpenApi) -> None:
    schemas = json.loads(openapi.document("batch.volcano.sh", "v1alpha1", RESOURCES))["components"]["schemas"]
    job = schemas["sh.volcano.batch.v1alpha1.Job"]
    task = job["properties"]["spec"]["properties"]["tasks"]["items"]["properties"]

    assert job["x-kubernetes-group-version-kind"] == [
        {"group": "batch.volcano.sh", "version": "v1alpha1", "kind": "Job"}
    ]
    assert task["replicas"]["description"]
    assert task["template"]["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec"}]
    assert "managedFields" in schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"]


def test_the_index_leads_to_documents_that_never_change(openapi: OpenApi) -> None:
    answer = openapi.respond("/openapi/v3", None, RESOURCES)
    assert answer is not None
    entry = json.loads(answer.body)["paths"]["apis/apps/v1"]["serverRelativeURL"]
    path, _, query = entry.partition("?hash=")

    document = openapi.respond(path, query, RESOURCES)

    assert document is not None
    assert document.status == 200
    assert "immutable" in document.headers["Cache-Control"]
    assert document.headers["ETag"] == f'"{query}"'
    unchanged = openapi.respond(path, query, RESOURCES, document.headers["ETag"])
    assert unchanged is not None
    assert unchanged.status == 304


def test_an_outdated_address_leads_to_the_current_one(openapi: OpenApi) -> None:
    answer = openapi.respond("/openapi/v3/api/v1", "OLD", RESOURCES)

    assert answer is not None
    assert answer.status == 301
    assert answer.headers["Location"].startswith("/openapi/v3/api/v1?hash=")


def test_kinds_of_users_are_published_with_their_schema_and_change_the_hash() -> None:
    widget = replace(
        JOBS.untyped, group="example.com", version="v1", plural="widgets", kind="Widget", singular="widget"
    )
    size = {"type": "integer", "description": "How big."}
    schemas = {"v": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": size}}}}}
    openapi = OpenApi(builtin_schemas.load(), lambda resource: schemas["v"] if resource.kind == "Widget" else None)
    served = [*RESOURCES, widget]
    before = openapi.hash_of("example.com", "v1", served)

    document = json.loads(openapi.document("example.com", "v1", served))
    schemas["v"] = {"type": "object", "properties": {}}

    published = document["components"]["schemas"]["com.example.v1.Widget"]["properties"]
    assert published["spec"]["properties"]["size"] == size
    assert published["metadata"] == {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    assert openapi.hash_of("example.com", "v1", served) != before


@pytest.mark.parametrize("path", ["/openapi/v3/apis/nothing/v1", "/openapi/v3/api/v9", "/openapi/v3/a/b/c/d"])
def test_what_is_not_there(openapi: OpenApi, path: str) -> None:
    assert openapi.respond(path, None, RESOURCES) is None
