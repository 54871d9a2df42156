"""Discovery in both forms says what is served, and the aggregated form can be revalidated."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from volcano.api.resources import ALL_KUBERNETES, ALL_VOLCANO, JOBS
from volcano.local.apiserver.catalog import discovery

RESOURCES = (*ALL_VOLCANO, *ALL_KUBERNETES)
V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
V2_BETA = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
KUBECTL = f"{V2};profile=nopeer,{V2},{V2_BETA},application/json"


def get(path: str, accept: str = "application/json") -> Any:
    answer = discovery.respond(path, accept, RESOURCES)
    assert answer is not None
    return json.loads(answer.body)


def group(document: Any, name: str) -> Any:
    return next(item for item in document["items"] if item["metadata"].get("name", "") == name)


@pytest.mark.parametrize(("accept", "version"), [(KUBECTL, "v2"), (V2, "v2"), (f"{V2_BETA}, */*", "v2beta1")])
def test_the_aggregated_form_names_itself_in_the_content_type(accept: str, version: str) -> None:
    answer = discovery.respond("/apis", accept, RESOURCES)

    assert answer is not None
    assert answer.headers["Content-Type"] == (
        f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    )
    assert json.loads(answer.body)["apiVersion"] == f"apidiscovery.k8s.io/{version}"
    assert answer.headers["Vary"] == "Accept"


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", f"application/json, {V2}"])
def test_others_get_the_older_form(accept: str) -> None:
    assert get("/apis", accept)["kind"] == "APIGroupList"
    assert get("/api", accept)["versions"] == ["v1"]


def test_an_unchanged_answer_is_not_sent_again() -> None:
    first = discovery.respond("/apis", V2, RESOURCES)
    assert first is not None

    again = discovery.respond("/apis", V2, RESOURCES, first.headers["ETag"])
    changed = discovery.respond("/apis", V2, RESOURCES[1:], first.headers["ETag"])

    assert again is not None
    assert (again.status, again.body) == (304, b"")
    assert changed is not None
    assert changed.status == 200


def test_a_resource_in_the_aggregated_form() -> None:
    version = group(get("/apis", V2), "batch.volcano.sh")["versions"][0]

    assert (version["version"], version["freshness"]) == ("v1alpha1", "Current")
    jobs = next(each for each in version["resources"] if each["resource"] == "jobs")
    assert jobs == {
        "resource": "jobs",
        "responseKind": {"group": "batch.volcano.sh", "version": "v1alpha1", "kind": "Job"},
        "scope": "Namespaced",
        "singularResource": "job",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "shortNames": ["vcjob", "vj"],
        "subresources": [
            {
                "subresource": "status",
                "responseKind": {"group": "batch.volcano.sh", "version": "v1alpha1", "kind": "Job"},
                "verbs": ["get", "patch", "update"],
            }
        ],
    }


def test_core_is_below_api_and_nowhere_else() -> None:
    assert [item["metadata"] for item in get("/api", V2)["items"]] == [{}]
    assert all(item["metadata"].get("name") for item in get("/apis", V2)["items"])


def test_a_plain_plural_means_kubernetes_own_kind() -> None:
    names = [item["metadata"]["name"] for item in get("/apis", V2)["items"]]

    assert names.index("batch") < names.index("batch.volcano.sh")


def test_a_group_and_its_versions() -> None:
    newer = replace(JOBS, version="v1")
    beta = replace(JOBS, version="v1beta1")
    answer = discovery.respond("/apis/batch.volcano.sh", "application/json", [JOBS, newer, beta])
    assert answer is not None
    document = json.loads(answer.body)

    assert [each["version"] for each in document["versions"]] == ["v1", "v1beta1", "v1alpha1"]
    assert document["preferredVersion"] == {"groupVersion": "batch.volcano.sh/v1", "version": "v1"}


def test_the_resources_of_a_version() -> None:
    entries = {entry["name"]: entry for entry in get("/api/v1")["resources"]}

    assert entries["pods"]["shortNames"] == ["po"]
    assert entries["pods/eviction"] == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ["create"],
    }
    assert entries["nodes"]["namespaced"] is False
    scale = {entry["name"]: entry for entry in get("/apis/apps/v1")["resources"]}["deployments/scale"]
    assert (scale["group"], scale["kind"]) == ("autoscaling", "Scale")


def test_a_pod_group_has_no_status_of_its_own() -> None:
    names = [entry["name"] for entry in get("/apis/scheduling.volcano.sh/v1beta1")["resources"]]

    assert "podgroups" in names
    assert "podgroups/status" not in names
    assert "queues/status" in names


@pytest.mark.parametrize("path", ["/apis/nothing", "/apis/apps/v2", "/api/v2", "/healthz", "/apis/apps/v1/deployments"])
def test_what_is_not_there(path: str) -> None:
    assert discovery.respond(path, "application/json", RESOURCES) is None


def test_the_root_lists_what_there_is() -> None:
    paths = get("/")["paths"]

    assert {"/api/v1", "/apis/batch.volcano.sh/v1alpha1", "/apis/apps", "/openapi/v3", "/readyz"} <= set(paths)
    assert paths == sorted(paths)


@pytest.mark.parametrize(("path", "served"), [("/apis/", True), ("/apis/apps/", True), ("//apis", False), ("", False)])
def test_one_slash_more_at_the_end_does_no_harm(path: str, served: bool) -> None:
    assert (discovery.respond(path, "application/json", RESOURCES) is not None) == served
