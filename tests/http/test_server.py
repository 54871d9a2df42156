"""The server on the wire: keep-alive, order, limits, streams, bad input."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec

from volcano.http.client import Endpoint, HttpClient
from volcano.http.message import Request, Response
from volcano.http.server import Limits, serve


async def echo(request: Request) -> Response:
    document = {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "body": request.body.decode("latin-1"),
        "headers": request.headers,
    }
    return Response(200, {"content-type": "application/json"}, msgspec.json.encode(document))


async def exchange(port: int, *parts: bytes, pause: float = 0.0) -> bytes:
    """Send raw bytes, close the sending side, and read everything the server answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(pause)
    with contextlib.suppress(OSError):
        writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return answer


def test_a_client_gets_its_request_echoed_over_one_connection() -> None:
    async def main() -> None:
        async with await serve(echo) as server:
            client = HttpClient(Endpoint(port=server.port))
            for _ in range(3):
                response = await client.request("POST", "/a%20b?x=1&y=a%2Bb", body=b"hello")
                seen = msgspec.json.decode(response.content)
                assert (seen["method"], seen["path"], seen["body"]) == ("POST", "/a b", "hello")
                assert seen["query"] == [["x", "1"], ["y", "a+b"]]
            assert len(server.connections) == 1
            await client.close()

    asyncio.run(main())


def test_pipelined_requests_are_answered_in_order() -> None:
    async def slow_first(request: Request) -> Response:
        if request.path == "/0":
            await asyncio.sleep(0.05)
        return Response(200, {}, request.path.encode())

    async def main() -> None:
        async with await serve(slow_first) as server:
            raw = b"".join(b"GET /%d HTTP/1.1\r\nhost: x\r\n\r\n" % number for number in range(100))
            answer = await exchange(server.port, raw)
            bodies = [part.rpartition(b"\r\n\r\n")[2] for part in answer.split(b"HTTP/1.1 200 OK")[1:]]
            assert bodies == [b"/%d" % number for number in range(100)]

    asyncio.run(main())


def test_a_stream_arrives_chunk_by_chunk() -> None:
    async def ticks() -> AsyncIterator[bytes]:
        for number in range(3):
            yield b"%d\n" % number
            await asyncio.sleep(0.01)

    async def handler(request: Request) -> Response:
        return Response(200, {}, ticks())

    async def main() -> None:
        async with await serve(handler) as server:
            client = HttpClient(Endpoint(port=server.port))
            async with client.stream("GET", "/") as response:
                assert response.status == 200
                chunks = [chunk async for chunk in response]
            assert chunks == [b"0\n", b"1\n", b"2\n"]
            assert (await client.request("GET", "/")).content == b"0\n1\n2\n"
            await client.close()

    asyncio.run(main())


def test_oversized_heads_and_bodies_are_refused() -> None:
    async def main() -> None:
        limits = Limits(head_bytes=1000, body_bytes=1000)
        async with await serve(echo, limits=limits) as server:
            long_head = b"GET / HTTP/1.1\r\nhost: x\r\nx-long: " + b"a" * 2000 + b"\r\n\r\n"
            assert (await exchange(server.port, long_head)).startswith(b"HTTP/1.1 431 ")
            endless = [b"GET / HTTP/1.1\r\nhost: x\r\nx-long: ", *[b"a" * 300] * 5]
            assert (await exchange(server.port, *endless, pause=0.01)).startswith(b"HTTP/1.1 431 ")
            declared = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n"
            assert (await exchange(server.port, declared)).startswith(b"HTTP/1.1 413 ")
            chunked = (
                b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
                + (b"200\r\n" + b"a" * 512 + b"\r\n") * 2
            )
            assert (await exchange(server.port, chunked)).startswith(b"HTTP/1.1 413 ")

    asyncio.run(main())
