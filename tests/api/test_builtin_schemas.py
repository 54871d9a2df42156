"""Kubernetes' own kinds: defaults, what is refused, and what is tolerated as its decoder tolerates it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from volcano.api import builtin_schemas
from volcano.api.builtin_schemas import Definitions, compile_kind, definition_name
from volcano.api.resources import ALL_KUBERNETES
from volcano.api.schema import Compiled


@pytest.fixture(scope="module")
def definitions() -> Definitions:
    return builtin_schemas.load()


@pytest.fixture(scope="module")
def pods(definitions: Definitions) -> Compiled:
    compiled = compile_kind(definitions, "", "v1", "Pod")
    assert compiled is not None
    return compiled


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "creationTimestamp": None},
        "spec": {"containers": [{"name": "c", "image": "x"}], **spec},
    }


def paths(compiled: Compiled, document: Any) -> list[str]:
    compiled.clean(document)
    return [f"{error.path} {error.reason.removeprefix('FieldValue')}" for error in compiled.validate(document)]


@pytest.mark.parametrize("resource", ALL_KUBERNETES, ids=lambda resource: resource.group_resource)
def test_every_built_in_kind_has_a_schema(definitions: Definitions, resource) -> None:
    assert definition_name(resource.group, resource.version, resource.kind) in definitions


def test_a_pod_is_accepted_and_its_ports_get_a_protocol(pods: Compiled) -> None:
    document = pod(containers=[{"name": "c", "ports": [{"containerPort": 80}]}])

    assert pods.clean(document) == []
    assert pods.validate(document) == []
    assert document["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert "creationTimestamp" not in document["metadata"]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (pod(containers=[{"image": "x"}]), ["spec.containers[0].name Required"]),
        (pod(containers=None), ["spec.containers Required"]),
        (pod(priority="1"), ["spec.priority TypeInvalid"]),
        (pod(containers=[{"name": "c"}, {"name": "c"}]), ["spec.containers[1] Duplicate"]),
        (pod(overhead={"cpu": "much"}), ["spec.overhead.cpu Invalid"]),
        (pod(tolerations={}), ["spec.tolerations TypeInvalid"]),
        (
            pod(volumes=[{"name": "v", "secret": {"defaultMode": 2**40}}]),
            ["spec.volumes[0].secret.defaultMode Invalid"],
        ),
        ({**pod(), "metadata": {"labels": {"a": 1}}}, ["metadata.labels.a TypeInvalid"]),
    ],
)
def test_what_is_wrong_with_a_pod(pods: Compiled, document: Any, expected: list[str]) -> None:
    assert paths(pods, document) == expected


def test_unknown_fields_of_a_pod_are_named(pods: Compiled) -> None:
    document = pod(replicas=1)
    document["metadata"]["colour"] = "red"

    assert pods.clean(document) == ["metadata.colour", "spec.replicas"]


def test_a_status_may_be_partial(pods: Compiled) -> None:
    document = {**pod(), "status": {"containerStatuses": [{"name": "c"}], "conditions": [{"type": "Ready"}]}}

    assert paths(pods, document) == []


def test_absent_numbers_are_zero_and_lists_may_be_null(definitions: Definitions) -> None:
    revision = compile_kind(definitions, "apps", "v1", "ControllerRevision")
    role = compile_kind(definitions, "rbac.authorization.k8s.io", "v1", "Role")
    assert revision is not None
    assert role is not None
    first: dict[str, Any] = {"metadata": {"name": "first"}}

    assert paths(revision, first) == []
    assert first["revision"] == 0
    assert paths(role, {"metadata": {"name": "r"}, "rules": None}) == []


def test_self_referring_schemas(definitions: Definitions) -> None:
    crd = compile_kind(definitions, "apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert crd is not None
    inner = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"typo": 1}}}}}
    document = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": inner}}]}}

    assert crd.clean(document) == ["spec.versions[0].schema.openAPIV3Schema.properties.a.properties.b.typo"]


def test_a_kind_kubernetes_does_not_have() -> None:
    assert compile_kind(builtin_schemas.load(), "apps", "v1", "Nothing") is None


def test_checking_a_pod_is_cheap(pods: Compiled) -> None:
    document = pod(
        schedulerName="volcano",
        nodeSelector={"a": "b"},
        tolerations=[{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}] * 2,
        volumes=[{"name": "v", "emptyDir": {}}],
        containers=[
            {
                "name": "c",
                "image": "x",
                "command": ["sh", "-c", "sleep 5"],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "ports": [{"containerPort": 80}],
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": 1}},
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
            }
        ],
    )
    rounds = 500

    def once() -> float:
        start = time.process_time()
        for _ in range(rounds):
            pods.clean(document)
            pods.validate(document)
        return (time.process_time() - start) / rounds

    assert min(once() for _ in range(5)) < 200e-6, "expected some 20 µs"
