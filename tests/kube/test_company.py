"""Two installations, and an API server that is too old: both daemons go on, and say so wherever somebody may look."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from tests.kube_cluster.programs import free_ports
from tests.waiting import until
from volcano.api.resources import EVENTS, LEASES, NAMESPACES
from volcano.controllers import manager
from volcano.controllers.flags import Flags as ControllerFlags
from volcano.http.client import Endpoint, HttpClient
from volcano.http.message import Request, Response
from volcano.kube import complaints, rivals
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.scheduler.daemon import main as scheduler
from volcano.scheduler.daemon.flags import Flags as SchedulerFlags
from volcano.scheduler.daemon.server import Scheduler

Daemon = Callable[[Client, str, asyncio.Event], Awaitable[None]]


async def run_scheduler(client: Client, health: str, stop: asyncio.Event) -> None:
    flags = SchedulerFlags(healthz_address=health, enable_metrics=False, leader_elect_resource_namespace="ours")
    daemon = Scheduler(client, flags)
    servers = await scheduler.listen(daemon, flags)
    await daemon.run(stop)
    for server in servers:
        await server.close(grace_seconds=0.1)


async def run_controllers(client: Client, health: str, stop: asyncio.Event) -> None:
    flags = ControllerFlags(healthz_address=health, enable_metrics=False, leader_elect_resource_namespace="ours")
    await manager.run(client, flags, stop)


@pytest.mark.parametrize(
    ("run", "lease"),
    [(run_scheduler, "volcano"), (run_controllers, "vc-controller-manager")],
    ids=["scheduler", "controllers"],
)
def test_others_and_old_servers_are_told(
    run: Daemon, lease: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rivals, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(complaints, "LOOK_SECONDS", 0.02)
    words = f"another installation holds the lease {lease} in namespace theirs (theirs-1)"
    old = "the API server is v1.29.4, older than v1.30"
    health = f"127.0.0.1:{free_ports(1)[0]}"

    async def main() -> None:
        server = ApiServer.open(":memory:")

        async def handle(request: Request) -> Response:
            if request.path == "/version":
                return Response(200, {}, b'{"gitVersion":"v1.29.4"}')
            return await server.handle(request)

        client, people = Client(InProcessTransport(handle)), Client(InProcessTransport(server.handle))
        for namespace in ("ours", "theirs"):
            await people.create(NAMESPACES.untyped, {"metadata": {"name": namespace}})

        async def renew() -> None:
            for second in range(10_000):
                moment = f"2030-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000000Z"
                spec = {"holderIdentity": "theirs-1", "renewTime": moment}
                await people.apply(LEASES.untyped, {"metadata": {"name": lease}, "spec": spec}, "theirs")
                await asyncio.sleep(0.005)

        renewing, stop = asyncio.create_task(renew()), asyncio.Event()
        running = asyncio.ensure_future(run(client, health, stop))
        probes = HttpClient(Endpoint("127.0.0.1", int(health.rpartition(":")[2])))

        async def said() -> bool:
            with suppress(OSError):
                answer = await probes.request("GET", "/readyz?verbose")
                text = answer.content.decode()
                return answer.status == 200 and f"[!]rivals: {words}" in text and f"[!]version: {old}" in text
            return False

        async def told(reason: str, message: str) -> bool:
            events = (await people.list(EVENTS, "ours")).items
            return any(each.reason == reason and message in each.message for each in events)

        await until(said)
        await until(lambda: told("Waits", words))
        await until(lambda: told("UnsupportedVersion", old))
        assert words in caplog.text
        assert old in caplog.text
        renewing.cancel()
        await until(lambda: told("Resumed", "is there"))
        stop.set()
        await running
        await probes.close()
        server.stop_watches()
        await server.close()

    asyncio.run(main())
