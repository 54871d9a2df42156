"""Certificates that are wrong or have ended: the daemon's informer says which, and follows once that is cured."""

from __future__ import annotations

import asyncio
import datetime
from contextlib import suppress

import pytest

from tests.http.test_tls import Authority
from tests.kube.memory_api import MemoryApi
from volcano.api.resources import CONFIGMAPS
from volcano.http.message import Request, Response
from volcano.http.server import serve
from volcano.http.tls import client_context, load_identity, server_context
from volcano.kube.client import Client
from volcano.kube.config import ClusterConfig
from volcano.kube.informer import Informer
from volcano.kube.transport import HttpTransport


def ended(authority: Authority) -> tuple[bytes, bytes]:
    """A certificate for localhost that was good until yesterday, with its key."""
    return authority.issue("localhost", since=datetime.timedelta(days=-9), until=datetime.timedelta(days=-1))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("another authority", "certificate verify failed"),
        ("ended", "certificate has expired"),
        ("client", "configmaps (the client certificate has expired (given address): no credentials are given"),
    ],
)
def test_a_certificate_that_cannot_be_accepted_is_named_until_it_is_replaced(kind: str, words: str) -> None:
    async def main() -> None:
        authority, stranger, memory = Authority(), Authority(), MemoryApi()
        cured = asyncio.Event()

        async def handle(request: Request) -> Response:
            if kind == "client" and not cured.is_set():
                return Response(
                    401, {}, b'{"kind":"Status","reason":"Unauthorized","message":"the client certificate has expired"}'
                )
            return await memory.handle(request)

        good = authority.issue("localhost")
        shown = {"another authority": stranger.issue("localhost"), "ended": ended(authority)}.get(kind, good)
        context = server_context(*shown)
        memory.put("one")
        async with await serve(handle, ssl=context) as server:
            config = ClusterConfig(
                f"https://127.0.0.1:{server.port}",
                ssl=client_context(authority=authority.pem),
                server_name="localhost",
            )
            client = Client(HttpTransport(config))
            informer = Informer(client, CONFIGMAPS)
            following = asyncio.create_task(informer.run())
            async with asyncio.timeout(60):
                while words not in (informer.problem() or ""):  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
            assert not following.done()

            cured.set()
            load_identity(context, *good)
            async with asyncio.timeout(60):
                await informer.synced()
            assert informer.problem() is None
            assert list(informer.store) == ["default/one"]
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
            await client.close()

    asyncio.run(main())
