"""The daemon as a whole: the lease, standing by, stopping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.controllers.bench import NAMESPACE, Bench, bench, eventually
from volcano.api import resources
from volcano.controllers import manager
from volcano.controllers.flags import Flags
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport

LOOPBACK = {"listen_address": "127.0.0.1:0", "healthz_address": "127.0.0.1:0"}


@asynccontextmanager
async def daemon(world: Bench) -> AsyncIterator[asyncio.Task[None]]:
    flags = Flags(
        leader_elect_lease_duration=1.5,
        leader_elect_renew_deadline=1.0,
        leader_elect_retry_period=0.1,
        leader_elect_resource_namespace=NAMESPACE,
        **LOOPBACK,
    )
    client = Client(InProcessTransport(world.wire.handle), user_agent=manager.PROGRAM)
    stop = asyncio.Event()
    running = asyncio.create_task(manager.run(client, flags, stop))
    try:
        yield running
    finally:
        stop.set()
        await running


def test_the_second_stands_by_and_takes_over() -> None:
    async def main() -> None:
        async with bench(running=False) as world:
            async with daemon(world):
                await eventually(lambda: world.exists(resources.LEASES, "vc-controller-manager"))
                async with daemon(world) as second:
                    job = await world.submit("one")
                    await eventually(lambda: world.exists(resources.PODGROUPS, f"one-{job.metadata.uid}"))
                    creates = [write for write in world.wire.writes if write[1].endswith("/podgroups")]
                    assert len(creates) == 1
                    assert not second.done()
            async with daemon(world):
                job = await world.submit("two")
                await eventually(lambda: world.exists(resources.PODGROUPS, f"two-{job.metadata.uid}"))

    asyncio.run(main())


def test_a_listed_controller_runs_alone() -> None:
    async def main() -> None:
        async with bench(controllers="queue-controller") as world:
            await world.submit()
            await asyncio.sleep(0.1)
            assert (await world.client.list(resources.PODGROUPS, NAMESPACE)).items == []
            assert (await world.client.get(resources.QUEUES, "default")).status.state == "Open"

    asyncio.run(main())
