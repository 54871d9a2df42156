"""Waiting for an API server that is away for a moment."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

import pytest

from tests.kube_cluster.programs import free_ports
from volcano.http.client import ConnectFailed, ConnectionClosed
from volcano.http.message import Request, Response
from volcano.http.server import serve
from volcano.kube.config import ClusterConfig
from volcano.kube.patience import PatientTransport
from volcano.kube.transport import HttpTransport

QUICK_SECONDS = 0.6


async def hello(request: Request) -> Response:
    return Response(200, {}, b"hello")


class Flaky:
    """A transport that fails so often before it answers."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.asked = 0

    async def request(self, method: str, path: str, **more: Any) -> Response:
        self.asked += 1
        if self._errors:
            raise self._errors.pop(0)
        return Response(200, {}, b"")


def patient(transport: Any, on_wait: Callable[[ConnectionError], None] | None = None) -> PatientTransport:
    return PatientTransport(transport, seconds=QUICK_SECONDS, on_wait=on_wait)


def test_a_request_outwaits_a_server_that_starts() -> None:
    async def main() -> None:
        [port] = free_ports(1)
        transport = PatientTransport(HttpTransport(ClusterConfig(f"http://127.0.0.1:{port}")), seconds=60.0)
        asking = asyncio.create_task(transport.request("POST", "/"))
        await asyncio.sleep(0.1)
        server = await serve(hello, port=port)
        try:
            assert (await asking).body == b"hello"
        finally:
            await transport.close()
            await server.close(0)

    asyncio.run(main())


def test_patience_ends_and_is_told_of_once() -> None:
    async def main() -> None:
        told: list[ConnectionError] = []
        [port] = free_ports(1)
        transport = patient(HttpTransport(ClusterConfig(f"http://127.0.0.1:{port}")), told.append)
        with pytest.raises(ConnectFailed, match=f"cannot connect to http://127.0.0.1:{port}"):
            await transport.request("GET", "/")
        with pytest.raises(ConnectFailed):
            async with transport.stream("GET", "/"):
                pass
        assert len(told) == 2
        await transport.close()

    asyncio.run(main())


def test_a_request_that_broke_off_is_repeated_only_when_it_reads() -> None:
    closed = ConnectionClosed("closed", answered=False)
    reading, writing = Flaky(closed), Flaky(closed)

    asyncio.run(patient(reading).request("GET", "/"))
    with pytest.raises(ConnectionClosed):
        asyncio.run(patient(writing).request("POST", "/"))

    assert (reading.asked, writing.asked) == (2, 1)


def test_what_waiting_does_not_cure_is_told_at_once() -> None:
    distrusted = ConnectFailed("certificate verify failed")
    distrusted.__cause__ = ssl.SSLCertVerificationError("self-signed")
    transport = Flaky(distrusted)

    with pytest.raises(ConnectFailed):
        asyncio.run(patient(transport).request("GET", "/"))

    assert transport.asked == 1
