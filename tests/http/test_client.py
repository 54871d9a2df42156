"""The client: one pool per server, and clear errors for every way an exchange can fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tests.http.conftest import Run, echo
from volcano.http.client import (
    ConnectFailed,
    ConnectionClosed,
    Endpoint,
    HttpClient,
    ProtocolError,
    RequestTimeout,
)
from volcano.http.message import Request, Response
from volcano.http.server import serve

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@asynccontextmanager
async def scripted(*answers: bytes | None) -> AsyncIterator[HttpClient]:
    """A client of a server that gives these answers, one per request; None closes the connection instead."""
    remaining = list(answers)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while remaining:
            try:
                await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            answer = remaining.pop(0)
            if answer is None:
                break
            writer.write(answer)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    client = HttpClient(Endpoint(port=server.sockets[0].getsockname()[1]))
    try:
        yield client
    finally:
        await client.close()
        server.close()


def test_connections_are_reused_and_bounded(run: Run) -> None:
    async def slow(request: Request) -> Response:
        await asyncio.sleep(0.01)
        return Response(200)

    async def main() -> None:
        async with await serve(slow) as server:
            client = HttpClient(Endpoint(port=server.port), max_connections=3)
            await asyncio.gather(*[client.request("GET", "/") for _ in range(20)])
            assert len(server.connections) == 3
            await client.close()

    run(main())


def test_a_connection_closed_while_idle_is_replaced_for_requests_that_may_be_repeated(run: Run) -> None:
    async def main() -> None:
        async with scripted(OK, None, OK) as client:
            assert (await client.request("GET", "/")).content == b"ok"
            assert (await client.request("GET", "/")).content == b"ok"
        async with scripted(OK, None, OK) as client:
            await client.request("GET", "/")
            with pytest.raises(ConnectionClosed):
                await client.request("POST", "/", body=b"")

    run(main())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"nonsense\r\n\r\n", ProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nok", ConnectionClosed),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n", ConnectionClosed),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", ProtocolError),
        (None, ConnectionClosed),
    ],
)
def test_broken_answers_are_errors(run: Run, answer: bytes | None, error: type[Exception]) -> None:
    async def main() -> None:
        async with scripted(answer) as client:
            with pytest.raises(error):
                await client.request("GET", "/")

    run(main())


def test_interim_answers_are_skipped_and_unbounded_bodies_end_with_the_connection(run: Run) -> None:
    async def main() -> None:
        async with scripted(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK) as client:
            response = await client.request("GET", "/")
            assert (response.status, response.headers) == (200, {"content-length": "2"})
        async with scripted(b"HTTP/1.1 200 OK\r\n\r\nall of it") as client:
            assert (await client.request("GET", "/")).content == b"all of it"
        async with scripted(b"HTTP/1.1 204 No Content\r\n\r\n", OK) as client:
            assert (await client.request("GET", "/")).status == 204
            assert (await client.request("GET", "/")).content == b"ok"

    run(main())


def test_a_silent_server_times_out_and_its_connection_is_not_reused(run: Run) -> None:
    async def sometimes(request: Request) -> Response:
        if request.path == "/slow":
            await asyncio.sleep(0.5)
        return Response(200, {}, request.path.encode())

    async def main() -> None:
        async with await serve(sometimes) as server:
            client = HttpClient(Endpoint(port=server.port))
            with pytest.raises(RequestTimeout):
                await client.request("GET", "/slow", timeout=0.1)
            for _ in range(3):
                assert (await client.request("GET", "/fast", timeout=60)).content == b"/fast"
            await client.close()

    run(main())


def test_a_cancelled_request_does_not_confuse_the_next(run: Run) -> None:
    async def handler(request: Request) -> Response:
        await asyncio.sleep(0.02)
        return Response(200, {}, request.path.encode())

    async def main() -> None:
        async with await serve(handler) as server:
            client = HttpClient(Endpoint(port=server.port), max_connections=1)
            for number in range(5):
                task = asyncio.create_task(client.request("GET", f"/cancelled{number}"))
                await asyncio.sleep(0.005 * number)
                task.cancel()
                assert (await client.request("GET", f"/{number}")).content == b"/%d" % number
            await client.close()

    run(main())


def test_nobody_listening_is_told_plainly(run: Run) -> None:
    async def main() -> None:
        server = await serve(echo)
        await server.close()
        client = HttpClient(Endpoint(port=server.port))
        with pytest.raises(ConnectFailed, match=f"cannot connect to http://127.0.0.1:{server.port}"):
            await client.request("GET", "/")

    run(main())
