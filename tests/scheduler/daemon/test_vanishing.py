"""What pods stand on goes away while they run: their queue, and the object of their node."""

from __future__ import annotations

import asyncio

import pytest

from tests.scheduler.daemon.bench import Bench, bench
from tests.waiting import until
from volcano.api.resources import EVENTS, NODES, PODS, QUEUES
from volcano.testing.builders import gang, node, queue


async def start(b: Bench, name: str, cpu: int, queue_name: str = "default") -> None:
    """A pod that the scheduler binds and the node runs."""
    await b.submit(gang(name, pods=1, cpu=cpu, queue=queue_name))
    await until(lambda: is_bound(b, name))
    running = {"status": {"phase": "Running"}}
    await b.client.patch(PODS, f"{name}-worker-0", running, "default", subresource="status")


async def is_bound(b: Bench, name: str) -> bool:
    return bool((await b.pod(f"{name}-worker-0")).spec.node_name)


async def says(b: Bench, kind: str, reason: str, words: str) -> bool:
    events = (await b.client.list(EVENTS)).items
    found = [event for event in events if event.involved_object.kind == kind and event.reason == reason]
    return any(words in event.message for event in found)


async def add_node(b: Bench, name: str, cpu: int) -> None:
    made = await b.client.create(NODES, node(name, cpu=cpu))
    made.status = node(name, cpu=cpu).status
    await b.client.update(NODES, made, subresource="status")


def test_a_node_object_that_is_deleted_and_made_again(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with bench(cpu=4) as b:
            await start(b, "runs", cpu=3)
            await b.client.delete(NODES, "n0")
            words = "node n0 was deleted with 1 pods on it"
            await until(lambda: says(b, "Node", "NodeDeleted", words))
            assert words in caplog.text
            assert words in (b.scheduler.vanished.remark() or "")

            await add_node(b, "n0", cpu=4)
            await b.submit(gang("large", pods=1, cpu=2))
            await b.submit(gang("small", pods=1, cpu=1))

            await until(lambda: is_bound(b, "small"))
            assert not await is_bound(b, "large")
            assert (await b.pod("runs-worker-0")).status.phase == "Running"
            assert b.scheduler.vanished.remark() is None

    asyncio.run(scenario())


def test_a_queue_that_is_deleted_under_running_jobs(caplog: pytest.LogCaptureFixture) -> None:
    """Who runs goes on, who waits is told why, and starts when the queue is there again."""

    async def scenario() -> None:
        async with bench(cpu=4) as b:
            await b.client.create(QUEUES, queue("research"))
            await b.client.patch(QUEUES, "research", {"status": {"state": "Open"}}, subresource="status")
            await start(b, "runs", cpu=1, queue_name="research")

            await start(b, "elsewhere", cpu=3)
            await b.submit(gang("waits", pods=1, cpu=2, queue="research"))

            await b.client.delete(QUEUES, "research")
            await until(lambda: says(b, "PodGroup", "QueueNotFound", "queue 'research' does not exist"))
            words = "queue research does not exist, and 2 podgroups are in it: what runs goes on, nothing else starts"
            assert b.scheduler.vanished.remark() == words
            assert words in caplog.text
            await b.client.delete(PODS, "elsewhere-worker-0", "default", grace_seconds=0)
            await start(b, "next", cpu=1)
            assert not await is_bound(b, "waits")
            assert (await b.pod("runs-worker-0")).status.phase == "Running"

            await b.client.create(QUEUES, queue("research"))
            await b.client.patch(QUEUES, "research", {"status": {"state": "Open"}}, subresource="status")
            await until(lambda: is_bound(b, "waits"))
            assert (await b.pod("runs-worker-0")).status.phase == "Running"
            assert b.scheduler.vanished.remark() is None

    asyncio.run(scenario())
