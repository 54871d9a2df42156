"""A scheduler that may not, or cannot, see its cluster: what is wrong is named, and it starts once that is cured."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.http.test_tls import Authority
from tests.waiting import until
from volcano.api.resources import EVENTS, NODES, PODGROUPS, PODS, QUEUES
from volcano.http.message import Request, Response
from volcano.kube import complaints
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.scheduler.daemon import queues
from volcano.scheduler.daemon.flags import Flags
from volcano.scheduler.daemon.main import listen
from volcano.scheduler.daemon.server import Scheduler
from volcano.testing.builders import gang, node

TRAIN = gang("train", pods=1, cpu=1)
REQUESTS: list[str] = []
"""What was answered otherwise than by the API server."""
GONE = Response(404, {"content-type": "text/plain"}, b"404 page not found")


def forbidden(what: str) -> Response:
    message = f'{what} is forbidden: User "volcano-scheduler" cannot list resource "{what}"'
    return Response(403, {}, msgspec.json.encode({"kind": "Status", "reason": "Forbidden", "message": message}))


@asynccontextmanager
async def troubled(
    answers: dict[str, Response | Exception], flags: Flags | None = None
) -> AsyncIterator[tuple[Client, Scheduler]]:
    """A scheduler whose requests for the given plural names get these answers, until they are taken out."""
    api = ApiServer.open(":memory:")

    async def handle(request: Request) -> Response:
        for plural, answer in answers.items():
            if f"/{plural}" in request.path:
                REQUESTS.append(request.path)
                if isinstance(answer, Exception):
                    raise answer
                return answer
        return await api.handle(request)

    scheduler = Scheduler(Client(InProcessTransport(handle)), flags or Flags(leader_elect=False), seed=1)
    stop = asyncio.Event()
    running = asyncio.create_task(scheduler.run(stop))
    try:
        yield Client(InProcessTransport(api.handle)), scheduler
    finally:
        stop.set()
        await running
        api.stop_watches()
        await api.close()


@pytest.mark.parametrize(
    ("plural", "answer", "words"),
    [
        ("podgroups", forbidden("podgroups"), "podgroups.scheduling.volcano.sh (podgroups is forbidden"),
        ("podgroups", GONE, "podgroups.scheduling.volcano.sh (not served as scheduling.volcano.sh/v1beta1: install"),
        ("queues", GONE, "queues root and default cannot be made sure of: 404 page not found"),
        ("queues", forbidden("queues"), "queues root and default cannot be made sure of: queues is forbidden"),
        ("nodes", ConnectionError("certificate has expired"), "nodes (certificate has expired"),
    ],
    ids=["forbidden", "no CRD", "no CRD of queues", "queues forbidden", "expired certificate"],
)
def test_what_cannot_be_seen_is_named_in_readiness_and_an_event(
    plural: str, answer: Response | Exception, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(complaints, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(queues, "PAUSE_SECONDS", 0.05)

    async def scenario() -> None:
        answers = {plural: answer}
        async with troubled(answers) as (client, scheduler):

            async def told() -> bool:
                found = (await client.list(EVENTS)).items
                return any(e.reason == "Waits" and words in e.message and e.type == "Warning" for e in found)

            await until(told)
            await until(lambda: words in (scheduler.is_ready() or ""))
            answers.clear()

            async def over() -> bool:
                return any(event.reason == "Resumed" for event in (await client.list(EVENTS)).items)

            await until(over)
            await until(lambda: is_ready(scheduler))

    asyncio.run(scenario())


@pytest.mark.parametrize("path", ["binding", "podgroups/train"], ids=["binds", "statuses"])
def test_a_write_without_a_right_is_named_wherever_somebody_may_look(
    path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And tried again until it is granted."""
    monkeypatch.setattr(complaints, "LOOK_SECONDS", 0.02)
    denial = 'it is forbidden: User "volcano-scheduler" cannot patch what it wants to'
    body = msgspec.json.encode({"kind": "Status", "reason": "Forbidden", "message": denial})
    words = f"lacks a right: {denial}"

    async def scenario() -> None:
        answers: dict[str, Response | Exception] = {}
        async with troubled(answers) as (client, scheduler):
            await until(lambda: is_ready(scheduler))
            await add_room(client)
            answers[path] = Response(403, {}, body)
            await client.create(PODGROUPS, TRAIN.pod_group)
            await client.create(PODS, TRAIN.pods[0])

            async def told(reason: str, text: str) -> bool:
                found = (await client.list(EVENTS)).items
                about = [each for each in found if each.involved_object.kind == "Lease" and each.reason == reason]
                return any(text in each.message for each in about)

            async def done() -> bool:
                group = await client.get(PODGROUPS, TRAIN.pod_group.metadata.name, "default")
                pod = await client.get(PODS, TRAIN.pods[0].metadata.name, "default")
                return bool(pod.spec.node_name and group.status.phase)

            await until(lambda: told("Waits", words))
            await until(lambda: scheduler.is_ready() == words)
            answers.clear()
            await until(done)
            await until(lambda: told("Resumed", ""))
            await until(lambda: is_ready(scheduler))

    asyncio.run(scenario())
    assert words in caplog.text


def test_a_health_certificate_that_has_ended_is_named_and_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(complaints, "LOOK_SECONDS", 0.02)
    flags = health_files(tmp_path, ended=True)

    async def scenario() -> None:
        async with troubled({}, flags) as (client, scheduler):
            servers = await listen(scheduler, flags)

            async def told(reason: str, words: str) -> bool:
                found = (await client.list(EVENTS)).items
                return any(e.reason == reason and words in e.message for e in found)

            await until(lambda: told("Waits", "tls.crt ended on "))
            await until(lambda: is_ready(scheduler))
            health_files(tmp_path, ended=False)
            await until(lambda: told("Resumed", ""))
            for server in servers:
                await server.close()

    asyncio.run(scenario())
    assert caplog.text.count("tls.crt ended on ") == 1


def health_files(folder: Path, *, ended: bool) -> Flags:
    """A certificate for the health address, with its key and the authority, as files that the flags name."""
    authority, days = Authority(), datetime.timedelta(days=1)
    pems = authority.issue("localhost", since=-9 * days, until=-days) if ended else authority.issue("localhost")
    paths = [folder / name for name in ("tls.crt", "tls.key", "ca.crt")]
    for path, pem in zip(paths, (*pems, authority.pem), strict=True):
        path.write_bytes(pem)
    names = ("tls_cert_file", "tls_private_key_file", "ca_cert_file")
    files: dict[str, Any] = dict(zip(names, map(str, paths), strict=True))
    loopback: dict[str, Any] = {"listen_address": "127.0.0.1:0", "healthz_address": "127.0.0.1:0"}
    return Flags(leader_elect=False, **loopback, **files)


def test_a_server_that_is_busy_is_asked_again_when_it_says() -> None:
    """429 with Retry-After, to every request: few come while it lasts, and then the pod is bound."""
    busy = Response(429, {"retry-after": "1"}, b'{"kind":"Status","reason":"TooManyRequests","message":"later"}')

    async def scenario() -> None:
        answers: dict[str, Response | Exception] = {}
        async with troubled(answers) as (client, scheduler):
            added = await client.create(NODES, node("n0", cpu=4))
            added.status = node("n0", cpu=4).status
            await client.update(NODES, added, subresource="status")
            await until(lambda: is_ready(scheduler))
            await client.patch(QUEUES, "default", {"status": {"state": "Open"}}, subresource="status")
            REQUESTS.clear()
            answers["api"] = answers["apis"] = busy
            await client.create(PODGROUPS, TRAIN.pod_group)
            for pod in TRAIN.pods:
                await client.create(PODS, pod)
            began = time.monotonic()
            await asyncio.sleep(1.5)
            seconds = time.monotonic() - began
            assert 1 <= len(REQUESTS) <= 8 * seconds / 1.5, REQUESTS
            answers.clear()

            async def bound() -> bool:
                return bool((await client.get(PODS, "train-worker-0", "default")).spec.node_name)

            await until(bound)

    asyncio.run(scenario())


async def is_ready(scheduler: Scheduler) -> bool:
    return scheduler.is_ready() is None


async def add_room(client: Client) -> None:
    """A node for the job, and an open queue."""
    made = await client.create(NODES, node("n1", cpu=4))
    made.status = node("n1", cpu=4).status
    await client.update(NODES, made, subresource="status")
    await client.patch(QUEUES, "default", {"status": {"state": "Open"}}, subresource="status")
