"""A scheduler daemon beside an API server, in one process and on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.waiting import until
from volcano.api.core import Pod
from volcano.api.resources import NODES, PODGROUPS, PODS, QUEUES
from volcano.api.scheduling import PodGroup
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.local.apiserver.storage.store import Store
from volcano.scheduler.daemon.flags import Flags
from volcano.scheduler.daemon.server import Scheduler
from volcano.testing.builders import Gang, node


@dataclass
class Bench:
    """What a test needs at hand."""

    client: Client
    scheduler: Scheduler
    stop: asyncio.Event
    running: asyncio.Task[None]

    async def submit(self, gang: Gang) -> None:
        await self.client.create(PODGROUPS, gang.pod_group)
        for pod in gang.pods:
            await self.client.create(PODS, pod)

    async def pod(self, name: str) -> Pod:
        return await self.client.get(PODS, name, "default")

    async def pod_group(self, name: str) -> PodGroup:
        return await self.client.get(PODGROUPS, name, "default")


@asynccontextmanager
async def bench(nodes: int = 1, cpu: int = 4, **flags: object) -> AsyncIterator[Bench]:
    """An API server with simulated nodes and a scheduler that has seen it."""
    api = ApiServer(Store.open(":memory:"))
    await api.start()
    client = Client(InProcessTransport(api.handle))
    for number in range(nodes):
        created = await client.create(NODES, node(f"n{number}", cpu=cpu))
        created.status = node(f"n{number}", cpu=cpu).status
        await client.update(NODES, created, subresource="status")
    stop = asyncio.Event()
    scheduler = Scheduler(client, Flags(leader_elect=False, **flags), seed=1)  # type: ignore[arg-type]
    running = asyncio.create_task(scheduler.run(stop))
    try:
        await until(lambda: _is_ready(scheduler))
        await client.patch(QUEUES, "default", {"status": {"state": "Open"}}, subresource="status")
        yield Bench(client, scheduler, stop, running)
    finally:
        stop.set()
        await running
        api.stop_watches()
        await api.close()


async def _is_ready(scheduler: Scheduler) -> bool:
    return scheduler.is_ready() is None
