"""The daemon as a whole: the lease, standing by, stopping."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.controllers.bench import NAMESPACE, Bench, bench
from tests.http.test_tls import Authority
from tests.waiting import until
from volcano.api import resources
from volcano.controllers import manager
from volcano.controllers.flags import Flags
from volcano.http.message import Request, Response
from volcano.http.metrics import Registry
from volcano.kube import complaints
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport

LOOPBACK: dict[str, Any] = {"listen_address": "127.0.0.1:0", "healthz_address": "127.0.0.1:0"}


GROUPS_OF_ALL = "/apis/scheduling.volcano.sh/v1beta1/podgroups"
GROUPS = GROUPS_OF_ALL.replace("podgroups", f"namespaces/{NAMESPACE}/podgroups")
FLAGS = Flags(
    leader_elect_lease_duration=1.5,
    leader_elect_renew_deadline=1.0,
    leader_elect_retry_period=0.1,
    leader_elect_resource_namespace=NAMESPACE,
    **LOOPBACK,
)


@asynccontextmanager
async def daemon(world: Bench, flags: Flags = FLAGS) -> AsyncIterator[asyncio.Task[None]]:
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
                await until(lambda: world.exists(resources.LEASES, "vc-controller-manager"))
                async with daemon(world) as second:
                    job = await world.submit("one")
                    await until(lambda: world.exists(resources.PODGROUPS, f"one-{job.metadata.uid}"))
                    creates = [write for write in world.wire.writes if write[1].endswith("/podgroups")]
                    assert len(creates) == 1
                    assert not second.done()
            async with daemon(world):
                job = await world.submit("two")
                await until(lambda: world.exists(resources.PODGROUPS, f"two-{job.metadata.uid}"))

    asyncio.run(main())


def test_whoever_loses_the_lease_stands_by_and_leads_again_without_listing_anew() -> None:
    """The API server is away for longer than the lease, and another copy works meanwhile."""
    lists: Counter[str] = Counter()

    async def main() -> None:
        async with bench(running=False) as world:
            away = False

            async def handle(request: Request) -> Response:
                if away:
                    raise ConnectionResetError("away")
                if request.method == "GET" and "watch" not in dict(request.query):
                    lists[request.path] += 1
                return await world.wire.handle(request)

            stop = asyncio.Event()
            client = Client(InProcessTransport(handle), user_agent=manager.PROGRAM)
            running = asyncio.create_task(manager.run(client, FLAGS, stop))
            first = await world.submit("first")
            await until(lambda: world.exists(resources.PODGROUPS, f"first-{first.metadata.uid}"))
            away, listed = True, lists.copy()
            async with daemon(world):
                second = await world.submit("second")
                await until(lambda: world.exists(resources.PODGROUPS, f"second-{second.metadata.uid}"))
                away = False
                await asyncio.sleep(0.3)
            third = await world.submit("third")
            await until(lambda: world.exists(resources.PODGROUPS, f"third-{third.metadata.uid}"))
            creates = [write for write in world.wire.writes if write == ("POST", GROUPS)]
            assert len(creates) == 3
            assert not running.done()
            assert {path: lists[path] - listed[path] for path in (GROUPS_OF_ALL, "/api/v1/pods")} == {
                GROUPS_OF_ALL: 0,
                "/api/v1/pods": 0,
            }
            stop.set()
            await running

    asyncio.run(main())


def test_a_health_certificate_that_has_ended_is_named_and_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(complaints, "LOOK_SECONDS", 0.02)
    authority, day = Authority(), datetime.timedelta(days=1)
    paths = [tmp_path / name for name in ("tls.crt", "tls.key", "ca.crt")]
    for path, pem in zip(
        paths, (*authority.issue("localhost", since=-9 * day, until=-day), authority.pem), strict=True
    ):
        path.write_bytes(pem)
    certificate, key, ca = map(str, paths)
    flags = dataclasses.replace(FLAGS, tls_cert_file=certificate, tls_private_key_file=key, ca_cert_file=ca)

    async def main() -> None:
        async with bench(running=False) as world, daemon(world, flags):

            async def told() -> bool:
                events = (await world.client.list(resources.EVENTS, NAMESPACE)).items
                return any(e.reason == "Waits" and "tls.crt ended on " in e.message for e in events)

            await until(told)
            job = await world.submit("one")
            await until(lambda: world.exists(resources.PODGROUPS, f"one-{job.metadata.uid}"))

    asyncio.run(main())
    assert caplog.text.count("tls.crt ended on ") == 1


def test_a_right_that_is_missing_in_a_later_term_is_told() -> None:
    async def main() -> None:
        async with bench(running=False) as world:
            client = Client(InProcessTransport(world.wire.handle), user_agent=manager.PROGRAM)
            terms = manager.Terms(client, FLAGS, None, None)
            following = asyncio.create_task(terms.current.follow(terms.complaint))
            for _ in range(2):
                term = asyncio.create_task(terms.lead())
                await until(lambda: terms.problem() is None)
                term.cancel()
                await asyncio.gather(term, return_exceptions=True)
            world.wire.forbidden = "podgroups"
            term = asyncio.create_task(terms.lead())
            await world.submit("one")
            await until(lambda: "podgroups is forbidden" in (terms.complaint() or ""))
            for task in (term, following):
                task.cancel()
            await asyncio.gather(term, following, return_exceptions=True)

    asyncio.run(main())


def test_a_listed_controller_runs_alone() -> None:
    async def main() -> None:
        async with bench(controllers="queue-controller") as world:
            await world.submit()
            await asyncio.sleep(0.1)
            assert (await world.client.list(resources.PODGROUPS, NAMESPACE)).items == []

            async def is_open() -> bool:
                return (await world.client.get(resources.QUEUES, "default")).status.state == "Open"

            await until(is_open)

    asyncio.run(main())


FORBIDDEN = {
    "kind": "Status",
    "status": "Failure",
    "reason": "Forbidden",
    "code": 403,
    "message": 'jobflows.flow.volcano.sh is forbidden: User "vc" cannot list resource "jobflows"',
}


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (
            Response(404, {"content-type": "text/plain"}, b"404 page not found"),
            "jobflows.flow.volcano.sh (not served as flow.volcano.sh/v1alpha1: install the CustomResourceDefinition",
        ),
        (
            Response(403, {"content-type": "application/json"}, msgspec.json.encode(FORBIDDEN)),
            'jobflows.flow.volcano.sh (jobflows.flow.volcano.sh is forbidden: User "vc" cannot list resource',
        ),
    ],
    ids=["missing, or of another version", "forbidden"],
)
def test_a_kind_that_cannot_be_read_stops_only_who_needs_it(
    refusal: Response, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Jobs run without jobflows; the daemon says what it waits for (log, readiness, event), and goes on trying."""

    async def main() -> None:
        async with bench(running=False) as world:
            installed = False

            async def without_flows(request: Request) -> Response:
                if "/flow.volcano.sh/" in request.path and not installed:
                    return refusal
                return await world.wire.handle(request)

            client = Client(InProcessTransport(without_flows), user_agent=manager.PROGRAM)
            runtime = manager.build(client, Flags(leader_elect_resource_namespace=NAMESPACE), Registry())
            running = asyncio.create_task(runtime.run())
            try:
                job = await world.submit("one")
                await until(lambda: world.exists(resources.PODGROUPS, f"one-{job.metadata.uid}"))
                await until(lambda: f"jobflow-controller waits for {words}" in (runtime.problem() or ""))
                problem = runtime.problem() or ""
                assert not any(name in problem for name in ("job-controller", "queue-controller", "pg-controller"))

                async def told() -> bool:
                    events = (await world.client.list(resources.EVENTS, NAMESPACE)).items
                    return any(e.reason == "Waits" and words in e.message for e in events)

                await until(told)
                assert words in caplog.text
                installed = True

                async def ready() -> bool:
                    return runtime.problem() is None

                await until(ready)
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())


def test_a_right_that_is_missing_ends_no_job() -> None:
    """Pods may not be created: the job says so and waits, the daemon is not ready and says why; then it is granted."""
    denial = 'pods is forbidden: User "vc" cannot create resource "pods" in API group "" in the namespace "default"'
    status = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": denial}

    async def main() -> None:
        async with bench(running=False) as world:
            granted = False

            async def denying(request: Request) -> Response:
                if request.method == "POST" and request.path.endswith("/pods") and not granted:
                    return Response(403, {"content-type": "application/json"}, msgspec.json.encode(status))
                return await world.wire.handle(request)

            client = Client(InProcessTransport(denying), user_agent=manager.PROGRAM)
            flags = Flags(leader_elect_resource_namespace=NAMESPACE, max_requeue_num=1)
            runtime = manager.build(client, flags, Registry())
            running = asyncio.create_task(runtime.run())
            try:
                await world.submit("one")
                await world.admit("one")

                async def told() -> bool:
                    events = (await world.client.list(resources.EVENTS, NAMESPACE)).items
                    return {"FailedCreate", "Waits"} <= {event.reason for event in events if denial in event.message}

                await until(told)
                lack = f"job-controller lacks a right: failed to create 2 pods of 2: {denial}"
                await until(lambda: lack in (runtime.problem() or ""))
                await asyncio.sleep(0.2)
                granted = True
                await until(lambda: world.has_pods(2, "one"))

                async def ready() -> bool:
                    return runtime.problem() is None

                await until(ready)
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())
