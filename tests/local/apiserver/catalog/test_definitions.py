"""Kinds that users define, and the definitions of Volcano's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.apiserver.api import Api, api
from tests.waiting import until
from volcano.local.apiserver.app import ApiServer

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FOOS = "/apis/example.com/v1/namespaces/default/foos"


def definition(**spec: Any) -> dict[str, Any]:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    properties = {"replicas": {"type": "integer", "default": 3, "minimum": 1}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {"type": "object", "properties": properties},
                    "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
                },
            }
        },
        "subresources": {"status": {}, "scale": scale},
    }
    names = {"plural": "foos", "kind": "Foo"}
    return {
        "metadata": {"name": "foos.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version], **spec},
    }


async def conditions(call: Api, plural: str) -> dict[str, str]:
    """What the server has made of a definition, once it has."""
    await call.server.store.settled()
    found = await call.get(f"{CRDS}/{plural}.example.com")
    return {item["type"]: item["status"] for item in found["status.conditions"]}


async def test_a_definition_serves_its_kind_from_then_on() -> None:
    async with api() as call:
        assert (await call.get(FOOS)).status == 404
        made = await call.made(CRDS, definition())
        foo = await call.made(FOOS, {"metadata": {"name": "a"}, "spec": {"unknown": 1}})
        bad = await call.patch(f"{FOOS}/a", {"spec": {"replicas": 0}})
        scaled = await call.patch(f"{FOOS}/a/scale", {"spec": {"replicas": 8}})

        assert made["status"] == {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": ["v1"],
        }
        assert await conditions(call, "foos") == {"NamesAccepted": "True", "Established": "True"}
        assert made["spec"]["names"]["listKind"] == "FooList"
        assert foo["spec"] == {"replicas": 3}
        assert (bad.status, "should be greater than or equal to 1" in bad.message) == (422, True)
        assert (scaled.status, (await call.get(f"{FOOS}/a"))["spec.replicas"]) == (200, 8)


async def test_deleting_a_definition_deletes_its_objects() -> None:
    async with api() as call:
        await call.made(CRDS, definition())
        await call.made(FOOS, {"metadata": {"name": "a"}})
        answer = await call.delete(f"{CRDS}/foos.example.com")
        assert answer["metadata.finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        assert await until_gone(call, FOOS)
        await call.made(CRDS, definition())
        assert (await call.get(FOOS)).names == []


async def test_a_definition_waits_for_objects_that_finalizers_hold() -> None:
    async with api() as call:
        await call.made(CRDS, definition())
        await call.made(FOOS, {"metadata": {"name": "held", "finalizers": ["example.com/f"]}})
        await call.delete(f"{CRDS}/foos.example.com")
        assert (await conditions(call, "foos"))["Terminating"] == "True"
        assert (await call.get(f"{FOOS}/held"))["metadata.deletionTimestamp"]

        await call.patch(f"{FOOS}/held", {"metadata": {"finalizers": None}})
        assert await until_gone(call, FOOS)


async def test_names_belong_to_whoever_came_first() -> None:
    async with api() as call:
        await call.made(CRDS, definition(names={"plural": "foos", "kind": "Foo", "shortNames": ["f"]}))
        late = definition(names={"plural": "fans", "kind": "Fan", "shortNames": ["f"]})
        await call.made(CRDS, late | {"metadata": {"name": "fans.example.com"}})
        assert await conditions(call, "fans") == {"NamesAccepted": "False", "Established": "False"}

        await call.delete(f"{CRDS}/foos.example.com")
        assert await until_gone(call, FOOS)
        assert await conditions(call, "fans") == {"NamesAccepted": "True", "Established": "True"}


async def test_versions_show_the_same_objects_under_their_names() -> None:
    async with api() as call:
        wanted = definition()
        first = wanted["spec"]["versions"][0]
        wanted["spec"]["versions"] = [first, {**first, "name": "v2", "storage": False}]
        await call.made(CRDS, wanted)
        await call.made(FOOS, {"metadata": {"name": "a"}})
        other = FOOS.replace("v1", "v2")
        changed = await call.patch(f"{other}/a", {"spec": {"replicas": 7}})
        watch = await call.watch(other, resourceVersion="0")

        assert changed["apiVersion"] == "example.com/v2"
        assert (await call.get(other)).json["items"][0]["apiVersion"] == "example.com/v2"
        assert (await watch.next())[1]["apiVersion"] == "example.com/v2"
        kept = await call.get(f"{FOOS}/a")
        assert (kept["apiVersion"], kept["spec.replicas"]) == ("example.com/v1", 7)


async def until_gone(call: Api, path: str) -> bool:
    """The path is served no more, soon."""

    async def gone() -> bool:
        return (await call.get(path)).status == 404

    return await until(gone)


async def test_definitions_outlive_the_server(tmp_path: Any) -> None:
    path = str(tmp_path / "state.db")
    for run in range(2):
        server = ApiServer.open(path)
        call = Api(server)
        if run == 0:
            await call.made(CRDS, definition())
        await call.made(FOOS, {"metadata": {"name": f"a{run}"}})
        await server.close()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"group": "other.com"}, "metadata.name"),
        ({"scope": ""}, "spec.scope"),
        ({"versions": [{"name": "v1", "served": True, "storage": False}]}, "spec.versions"),
        ({"versions": [{"name": "one", "served": True, "storage": True}]}, "spec.versions[0].name"),
        ({"conversion": {"strategy": "Webhook"}}, "spec.conversion.strategy"),
    ],
)
async def test_bad_definitions_are_refused_by_field(change: dict[str, Any], field: str) -> None:
    async with api() as call:
        answer = await call.post(CRDS, definition(**change))

        assert answer.status in (400, 422)
        assert field in answer.message


async def test_volcanos_kinds_are_listed_as_definitions_and_stay() -> None:
    async with api() as call:
        names = (await call.get(CRDS)).names

        assert "jobs.batch.volcano.sh" in names
        assert len(names) == 11
        assert (await call.delete(f"{CRDS}/jobs.batch.volcano.sh")).status == 403
        assert (await call.get("/apis/batch.volcano.sh/v1alpha1/jobs")).status == 200
