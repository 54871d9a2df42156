"""Fills an API server with the objects of a busy cluster, for benchmarks of who comes later."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from benchmarks.rig.clusters import make_account
from benchmarks.worlds import documents
from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import NODES, PODGROUPS, PODS, QUEUES
from volcano.kube import config
from volcano.kube.client import Client, PatchKind
from volcano.kube.transport import HttpTransport

NAMESPACE = "default"
WRITERS = 32


def connect(path: str) -> Client:
    """A client of the API server that this kubeconfig names."""
    return Client(HttpTransport(config.load(path)))


async def populate(path: str, nodes: int, pods: int, size: int = documents.JOB_SIZE) -> dict[str, Any]:
    """Nodes, and pods that run on them in jobs of `size`."""
    client = connect(path)
    await make_account(client)
    await put(client, QUEUES, documents.queue("default"))

    async def node(number: int) -> None:
        document = documents.node(number)
        await put(client, NODES, document)
        await client.patch(NODES, document["metadata"]["name"], {"spec": {"taints": None}}, kind=PatchKind.MERGE)

    async def group(number: int) -> None:
        await put(client, PODGROUPS, documents.pod_group(f"job-{number}", number, size=size))

    async def pod(number: int) -> None:
        await put(client, PODS, documents.running_pod(number, nodes, size))

    await concurrently(node, range(nodes))
    await concurrently(group, range(pods // size))
    await concurrently(pod, range(pods))
    await client.close()
    return {}


async def submit(path: str, jobs: int, size: int, name: str) -> dict[str, Any]:
    """Admitted gangs whose pods wait."""
    client = connect(path)

    async def group(number: int) -> None:
        await put(client, PODGROUPS, documents.pod_group(f"{name}-{number}", number, phase="Inqueue", size=size))

    async def pod(number: int) -> None:
        job = f"{name}-{number // size}"
        await put(client, PODS, documents.pending_pod(f"{job}-worker-{number % size}", job, number))

    await concurrently(group, range(jobs))
    await concurrently(pod, range(jobs * size))
    await client.close()
    return {}


async def put(client: Client, resource: Resource[Any], document: JsonObject) -> None:
    """Create it, and then say how it is: the status of a new object is the server's."""
    given = document["metadata"]
    kept = {name: given[name] for name in ("name", "labels", "annotations") if name in given}
    namespace = given.get("namespace")
    await client.create(resource.untyped, {"metadata": kept, "spec": document["spec"]}, namespace)
    subresource = "status" if resource is not PODGROUPS else None
    if document["status"] == documents.NEW:
        return
    await client.patch(
        resource.untyped,
        kept["name"],
        {"status": document["status"]},
        namespace,
        kind=PatchKind.MERGE,
        subresource=subresource,
    )


async def concurrently(work: Callable[[int], Awaitable[None]], numbers: Iterable[int]) -> None:
    rest = iter(numbers)

    async def worker() -> None:
        for number in rest:
            await work(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(WRITERS):
            group.create_task(worker())
