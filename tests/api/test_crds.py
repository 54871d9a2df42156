"""The CustomResourceDefinitions made from the types are those that clients and charts know."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from volcano.api import builtin_schemas, crds, schema
from volcano.api.resources import ALL_VOLCANO, HYPERNODES, JOB_FLOWS, JOBS, PODGROUPS, QUEUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.api.meta import JsonObject
    from volcano.api.resource import Resource

DEFINITIONS = builtin_schemas.load()


def reference(resource: Resource[Any]) -> JsonObject:
    shared = os.environ.get("VOLCANO_SHARED")
    path = Path(shared or "/") / "crds" / f"{resource.group}_{resource.plural}.yaml"
    if not shared or not path.exists():
        pytest.skip("VOLCANO_SHARED does not name a folder with the reference definitions")
    loaded: JsonObject = next(each for each in yaml.load_all(path.read_text(), yaml.CSafeLoader) if each)
    return loaded


def differences(made: Any, wanted: Any, path: str = "") -> Iterator[str]:
    """Where two schemas differ in effect: descriptions and the order of `required` do not matter."""
    if isinstance(made, dict) and isinstance(wanted, dict):
        for word in sorted(made.keys() | wanted.keys()):
            if word == "description" and not path.endswith(".properties"):
                continue
            if word not in made or word not in wanted:
                yield f"{path}.{word}: {'missing' if word not in made else 'too much'}"
            elif word == "required" and isinstance(wanted[word], list):
                if sorted(made[word]) != sorted(wanted[word]):
                    yield f"{path}.required: {made[word]} instead of {wanted[word]}"
            else:
                yield from differences(made[word], wanted[word], f"{path}.{word}")
    elif isinstance(made, list) and isinstance(wanted, list) and len(made) == len(wanted):
        for index, pair in enumerate(zip(made, wanted, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif made != wanted:
        yield f"{path}: {made!r} instead of {wanted!r}"


@pytest.mark.parametrize("resource", ALL_VOLCANO, ids=lambda resource: resource.group_resource)
def test_a_definition_accepts_and_defaults_as_the_reference_does(resource: Resource[Any]) -> None:
    wanted = reference(resource)["spec"]
    for version in wanted["versions"]:
        if version.get("subresources") == {}:
            del version["subresources"]  # none, said in another way

    assert list(differences(crds.crd(resource, DEFINITIONS)["spec"], wanted)) == []


@pytest.mark.parametrize("resource", ALL_VOLCANO, ids=lambda resource: resource.group_resource)
def test_every_field_of_our_own_is_described(resource: Resource[Any]) -> None:
    schema = crds.referring_schema(resource)

    assert list(undescribed(schema, resource.kind)) == []


def undescribed(schema: JsonObject, path: str) -> Iterator[str]:
    for name, each in schema.get("properties", {}).items():
        inner = each.get("items", each)
        if "$ref" not in each and name != "metadata" and "description" not in each and path not in _SELF_EXPLANATORY:
            yield f"{path}.{name}"
        yield from undescribed(inner, f"{path}.{name}")
        yield from undescribed(each.get("additionalProperties", {}), f"{path}.{name}.*")


_SELF_EXPLANATORY = {
    "PodGroup.status.conditions",
    "Numatopology.spec.numares.*",
    "Numatopology.spec.cpuDetail.*",
}


def job(**spec: Any) -> JsonObject:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"tasks": [{"name": "t", "replicas": 1, "template": template}], **spec},
    }


def test_a_job_gets_the_defaults_of_its_schema() -> None:
    compiled = crds.compile_resource(JOBS, DEFINITIONS)
    document = job(networkTopology={}, volumes=[{"mountPath": "/data", "volumeClaim": {"accessModes": []}}])

    assert compiled.clean(document) == []
    assert compiled.validate(document) == []
    spec = document["spec"]
    assert (spec["queue"], spec["maxRetry"], spec["networkTopology"]) == ("default", 3, {"mode": "hard"})
    assert "minAvailable" not in spec


@pytest.mark.parametrize(
    ("resource", "document", "expected"),
    [
        (JOBS, job(minAvailable=-1), ["spec.minAvailable"]),
        (JOBS, job(tasks=[]), ["spec.tasks"]),
        (JOBS, job(queue="Not A Queue"), ["spec.queue"]),
        (JOBS, job(policies=[{"event": "Never", "action": "Anything"}]), ["spec.policies[0].event"]),
        (JOBS, job(policies=[{"events": ["PodFailed", "Never"]}]), ["spec.policies[0].events[1]"]),
        (JOBS, job(volumes=[{}]), ["spec.volumes[0].mountPath"]),
        (JOBS, job(plugins={"svc": "--a"}), ["spec.plugins.svc"]),
        (JOBS, job(tasks=[{"template": {"spec": {}}}]), ["spec.tasks[0].template.spec.containers"]),
        (
            PODGROUPS,
            {"spec": {"minMember": "1", "minTaskMember": {"a": "b"}}},
            ["spec.minMember", "spec.minTaskMember.a"],
        ),
        (PODGROUPS, {"spec": {"minResources": {"cpu": "lots"}}}, ["spec.minResources.cpu"]),
        (QUEUES, {"spec": {"weight": 0}}, ["spec.weight"]),
        (QUEUES, {"spec": {"dequeueStrategy": "lifo"}}, ["spec.dequeueStrategy"]),
        (HYPERNODES, {"spec": {"members": []}}, ["spec.members", "spec.tier"]),
        (
            HYPERNODES,
            {"spec": {"tier": 1, "members": [{"type": "Node", "selector": {}}]}},
            ["spec.members[0].selector"],
        ),
        (JOB_FLOWS, {"spec": {"flows": [{"name": ""}]}}, ["spec.flows[0].name"]),
    ],
)
def test_what_the_schemas_refuse(resource: Resource[Any], document: JsonObject, expected: list[str]) -> None:
    compiled = crds.compile_resource(resource, DEFINITIONS)
    compiled.clean(document)

    assert [error.path for error in compiled.validate(document)] == expected


def test_both_rules_of_a_member_selector() -> None:
    compiled = crds.compile_resource(HYPERNODES, DEFINITIONS)
    both = {"exactMatch": {"name": "a"}, "regexMatch": {"pattern": "a"}}
    members = [{"type": "Node", "selector": selector} for selector in ({}, both, {"exactMatch": {"name": "a"}})]

    errors = compiled.validate({"spec": {"tier": 1, "members": members}})

    assert [str(error) for error in errors] == [
        'spec.members[0].selector: Invalid value: "object": '
        "Either ExactMatch or RegexMatch or LabelMatch must be specified",
        'spec.members[1].selector: Invalid value: "object": '
        "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified",
    ]


def test_inlined_and_referring_schemas_behave_alike() -> None:
    inlined = schema.compile(crds.object_schema(JOBS, DEFINITIONS), DEFINITIONS.__getitem__)
    referring = crds.compile_resource(JOBS, DEFINITIONS)
    ports: list[dict[str, Any]] = [{"containerPort": "x"}, {"containerPort": 1, "extra": True}]
    first = job(tasks=[{"replicas": -1, "template": {"spec": {"containers": [{"name": "c", "ports": ports}]}}}])
    second = job(tasks=[{"replicas": -1, "template": {"spec": {"containers": [{"name": "c", "ports": ports}]}}}])
    first["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["ports"] = [dict(port) for port in ports]
    second["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["ports"] = [dict(port) for port in ports]

    assert inlined.clean(first) == referring.clean(second) != []
    assert first == second
    assert inlined.validate(first) == referring.validate(second) != []
