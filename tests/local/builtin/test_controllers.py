"""The controllers together against an API server, with simulated nodes and a scheduler of three lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.waiting import SECONDS, until
from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import (
    BATCH_JOBS,
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    REPLICA_SETS,
    SERVICE_ACCOUNTS,
)
from volcano.kube.client import Client
from volcano.kube.errors import ApiError
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.local.builtin.main import run
from volcano.local.node.simulated import SimulatedNodes
from volcano.local.node.spec import uniform

TEMPLATE: JsonObject = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}


class World:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def create(self, resource: Resource[Any], name: str, spec: JsonObject, **metadata: Any) -> JsonObject:
        document: JsonObject = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, **({"namespace": "default"} if resource.namespaced else {}), **metadata},
            "spec": spec,
        }
        return await self.client.create(resource.untyped, document)

    async def names(self, resource: Resource[Any], namespace: str | None = "default") -> list[str]:
        return [item["metadata"]["name"] for item in (await self.client.list(resource.untyped, namespace)).items]

    async def status(self, resource: Resource[Any], name: str) -> JsonObject:
        status: JsonObject = (await self.client.get(resource.untyped, name, "default")).get("status") or {}
        return status

    async def schedule(self) -> None:
        async for event in self.client.watch(PODS.untyped, send_initial_events=True):
            pod = event.object
            if event.type == "ADDED" and not pod["spec"].get("nodeName"):
                metadata = pod["metadata"]
                try:
                    await self.client.bind(metadata["namespace"], metadata["name"], metadata["uid"], "sim-000")
                except ApiError:
                    continue


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    api = ApiServer.open(":memory:")
    result = World(Client(InProcessTransport(api.handle)))
    ready, nodes = asyncio.Event(), SimulatedNodes(result.client, uniform(2, "8", "32Gi"))
    tasks = [
        asyncio.create_task(run(result.client, authority="PEM", ready=ready)),
        asyncio.create_task(nodes.run()),
        asyncio.create_task(result.schedule()),
    ]
    try:
        await asyncio.wait_for(ready.wait(), SECONDS)
        await asyncio.wait_for(nodes.registered.wait(), SECONDS)
        yield result
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await api.close()


def in_world(story: Callable[[World], Awaitable[None]]) -> None:
    async def play() -> None:
        async with asyncio.timeout(250), world() as place:
            await story(place)

    asyncio.run(play())


def web(replicas: int) -> JsonObject:
    return {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}


def test_a_deployment_comes_up_rolls_over_scales_and_goes() -> None:
    async def story(place: World) -> None:
        await place.create(DEPLOYMENTS, "web", web(4))

        async def available(count: int) -> bool:
            status = await place.status(DEPLOYMENTS, "web")
            return (
                status.get("availableReplicas") == status.get("updatedReplicas") == status.get("replicas") == count
                and len(await place.names(PODS)) == count
            )

        await until(lambda: available(4))
        before = await place.names(PODS)
        template = {**TEMPLATE, "spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}
        await place.client.patch(DEPLOYMENTS.untyped, "web", {"spec": {"template": template}}, "default")

        async def rolled() -> bool:
            return await available(4) and not set(before) & set(await place.names(PODS))

        await until(rolled)
        assert len(await place.names(REPLICA_SETS)) == 2
        await place.client.patch(DEPLOYMENTS.untyped, "web", {"spec": {"replicas": 2}}, "default")
        await until(lambda: available(2))
        await place.client.delete(DEPLOYMENTS, "web", "default")

        async def gone() -> bool:
            return not await place.names(PODS) and not await place.names(REPLICA_SETS)

        await until(gone)

    in_world(story)


def test_foreground_deletion_removes_the_owner_last_and_orphans_stay_when_asked() -> None:
    async def story(place: World) -> None:
        await place.create(REPLICA_SETS, "one", web(2))
        await place.create(REPLICA_SETS, "two", web(2))

        async def up() -> bool:
            return len(await place.names(PODS)) == 4

        await until(up)
        await place.client.delete(REPLICA_SETS, "one", "default", propagation="Foreground")
        await place.client.delete(REPLICA_SETS, "two", "default", propagation="Orphan")

        async def settled() -> bool:
            return not await place.names(REPLICA_SETS)

        await until(settled)
        pods = (await place.client.list(PODS.untyped, "default")).items
        assert {pod["metadata"]["generateName"] for pod in pods} == {"two-"}
        assert all(not pod["metadata"].get("ownerReferences") for pod in pods)

    in_world(story)


def test_a_batch_job_runs_to_completion_and_expires() -> None:
    async def story(place: World) -> None:
        metadata = {"annotations": {"volcano.sh/simulate-duration": "50ms"}}
        template = {"metadata": metadata, "spec": {"restartPolicy": "Never", **TEMPLATE["spec"]}}
        spec = {"completions": 5, "parallelism": 2, "ttlSecondsAfterFinished": 1, "template": template}
        await place.create(BATCH_JOBS, "j", spec)

        async def complete() -> bool:
            return bool((await place.status(BATCH_JOBS, "j")).get("completionTime"))

        await until(complete)
        status = await place.status(BATCH_JOBS, "j")
        assert (status["succeeded"], status.get("failed", 0)) == (5, 0)

        async def expired() -> bool:
            return not await place.names(BATCH_JOBS) and not await place.names(PODS)

        await until(expired)

    in_world(story)


def test_namespaces_are_furnished_and_emptied() -> None:
    async def story(place: World) -> None:
        await place.create(NAMESPACES, "team", {})

        async def furnished() -> bool:
            accounts, maps = await place.names(SERVICE_ACCOUNTS, "team"), await place.names(CONFIGMAPS, "team")
            return accounts == ["default"] and maps == ["kube-root-ca.crt"]

        await until(furnished)
        await place.client.delete(SERVICE_ACCOUNTS, "default", "team")
        await until(furnished)
        await place.create(PODS, "p", {**TEMPLATE["spec"], "nodeName": "sim-001"}, namespace="team")
        await place.client.delete(NAMESPACES, "team")

        async def gone() -> bool:
            return "team" not in await place.names(NAMESPACES, None)

        await until(gone)

    in_world(story)


def test_an_object_of_an_owner_that_never_was_is_collected() -> None:
    async def story(place: World) -> None:
        reference = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "ghost", "uid": "no-such-uid"}
        await place.create(PODS, "stray", {**TEMPLATE["spec"]}, ownerReferences=[reference])

        async def gone() -> bool:
            return not await place.names(PODS)

        await until(gone)

    in_world(story)


def test_a_cordoned_node_is_tainted() -> None:
    async def story(place: World) -> None:
        await place.client.patch(NODES.untyped, "sim-001", {"spec": {"unschedulable": True}})

        async def tainted() -> bool:
            node = await place.client.get(NODES.untyped, "sim-001")
            return [taint["key"] for taint in node["spec"].get("taints") or []] == ["node.kubernetes.io/unschedulable"]

        await until(tainted)

    in_world(story)


def test_a_claim_is_bound_and_its_volume_goes_with_it() -> None:
    async def story(place: World) -> None:
        resources = {"requests": {"storage": "1Gi"}}
        await place.create(PERSISTENT_VOLUME_CLAIMS, "data", {"accessModes": ["ReadWriteOnce"], "resources": resources})

        async def bound() -> bool:
            return (await place.status(PERSISTENT_VOLUME_CLAIMS, "data")).get("phase") == "Bound"

        await until(bound)
        assert len(await place.names(PERSISTENT_VOLUMES, None)) == 1
        await place.client.delete(PERSISTENT_VOLUME_CLAIMS, "data", "default")

        async def gone() -> bool:
            return not await place.names(PERSISTENT_VOLUMES, None)

        await until(gone)

    in_world(story)
