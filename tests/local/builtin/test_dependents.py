"""Owners and their dependents: whose labels no longer suit is let go, orphans that suit are taken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.builtin.test_controllers import TEMPLATE, World, in_world, web
from tests.waiting import until
from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import BATCH_JOBS, DAEMON_SETS, DEPLOYMENTS, PODS, REPLICA_SETS, STATEFUL_SETS
from volcano.kube.client import PatchKind
from volcano.local.builtin.dependents import pod_meta, sort_out
from volcano.local.builtin.views import LabelledMeta, PodView


def pod(name: str, *, going: bool = False, **labels: str) -> PodView:
    gone = "2026-01-01T00:00:00Z" if going else None
    return PodView(metadata=LabelledMeta(name=name, namespace="n", labels=labels, deletion_timestamp=gone))


def owner(*, going: bool = False, **spec: Any) -> JsonObject:
    chosen = {"selector": {"matchLabels": {"app": "web"}}} | spec
    return {"metadata": {"name": "o", **({"deletionTimestamp": "x"} if going else {})}, "spec": chosen}


EXISTS = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("here", "kept", "released", "adopted"),
    [
        (owner(), ["mine"], ["strayed"], ["orphan"]),
        (owner(going=True), ["mine"], [], []),
        (owner(selector=EXISTS), ["mine", "strayed"], [], ["orphan", "other"]),
        (owner(selector=None), [], ["mine", "strayed"], []),
    ],
    ids=["matching", "owner goes", "expressions", "no selector"],
)
def test_labels_decide_who_belongs(here: JsonObject, kept: list[str], released: list[str], adopted: list[str]) -> None:
    mine = [pod("mine", app="web"), pod("strayed", app="db")]
    orphans = [pod("orphan", app="web"), pod("other", app="db"), pod("leaving", going=True, app="web"), pod("bare")]

    found = sort_out(here, mine, orphans, pod_meta)

    assert [[one.metadata.name for one in part] for part in (found.kept, found.released, found.adopted)] == [
        kept,
        released,
        adopted,
    ]


async def owners_of(place: World, resource: Resource[Any], name: str) -> list[str]:
    document = await place.client.get(resource.untyped, name, "default")
    return [reference["name"] for reference in document["metadata"].get("ownerReferences") or ()]


async def owned(place: World, resource: Resource[Any], by: str) -> list[str]:
    listing = await place.client.list(resource.untyped, "default")
    return [
        item["metadata"]["name"]
        for item in listing.items
        if any(one["name"] == by for one in item["metadata"].get("ownerReferences") or ())
    ]


async def relabel(place: World, resource: Resource[Any], name: str, **labels: str) -> None:
    body = {"metadata": {"labels": labels}}
    await place.client.patch(resource.untyped, name, body, "default", kind=PatchKind.MERGE)


@pytest.mark.parametrize(
    ("resource", "spec", "count"),
    [(REPLICA_SETS, {"replicas": 2}, 2), (STATEFUL_SETS, {"replicas": 1, "serviceName": "s"}, 1), (DAEMON_SETS, {}, 2)],
    ids=["replicaset", "statefulset", "daemonset"],
)
def test_a_pod_with_other_labels_is_let_go_and_comes_back_with_the_old_ones(
    resource: Resource[Any], spec: JsonObject, count: int
) -> None:
    async def story(place: World) -> None:
        rest = {name: value for name, value in web(0).items() if name != "replicas"}
        await place.create(resource, "web", {**rest, **spec})

        async def full() -> bool:
            return len(await owned(place, PODS, "web")) == count

        await until(full)
        name = (await owned(place, PODS, "web"))[0]
        await relabel(place, PODS, name, app="debugged")

        async def let_go() -> bool:
            return await owners_of(place, PODS, name) == []

        await until(let_go)
        if resource is not STATEFUL_SETS:  # the name of its pod is taken
            await until(full)
        await relabel(place, PODS, name, app="web")

        async def settled() -> bool:
            """It is theirs again, or one too many and gone."""
            return await full() and (
                name not in await place.names(PODS) or await owners_of(place, PODS, name) == ["web"]
            )

        await until(settled)

    in_world(story)


def test_orphans_are_taken_by_whom_they_suit() -> None:
    async def story(place: World) -> None:
        await place.create(PODS, "bare", TEMPLATE["spec"], labels={"app": "web"})
        await place.create(PODS, "other", TEMPLATE["spec"], labels={"app": "db"})
        await place.create(REPLICA_SETS, "old", web(1))

        async def taken() -> bool:
            return await owned(place, PODS, "old") == ["bare"]

        await until(taken)
        await place.create(DEPLOYMENTS, "web", web(1))
        await relabel(place, REPLICA_SETS, "old", app="web")

        async def ours() -> bool:
            return "old" in await owned(place, REPLICA_SETS, "web")

        await until(ours)
        await relabel(place, REPLICA_SETS, "old", app="else")

        async def free() -> bool:
            return await owners_of(place, REPLICA_SETS, "old") == []

        await until(free)
        assert await owners_of(place, PODS, "other") == []

    in_world(story)


def test_a_job_counts_a_pod_that_it_takes() -> None:
    async def story(place: World) -> None:
        template = {"metadata": {"labels": {"batch": "b"}}, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
        await place.create(PODS, "early", template["spec"], labels={"batch": "b"})
        chosen = {"manualSelector": True, "selector": {"matchLabels": {"batch": "b"}}}
        await place.create(BATCH_JOBS, "b", {**chosen, "parallelism": 1, "template": template})

        async def taken() -> bool:
            return await owners_of(place, PODS, "early") == ["b"]

        await until(taken)
        assert await owned(place, PODS, "b") == ["early"]

    in_world(story)
