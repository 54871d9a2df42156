"""Streams: chunks as they come, batching, back-pressure, and every way they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.http.conftest import Run, exchange
from volcano.http.client import ConnectionClosed, Endpoint, HttpClient
from volcano.http.message import Handler, Request, Response
from volcano.http.reading import Limits
from volcano.http.server import serve


def streaming(body: AsyncIterator[bytes]) -> Handler:
    async def handler(request: Request) -> Response:
        return Response(200, {}, body)

    return handler


def test_a_stream_arrives_chunk_by_chunk(run: Run) -> None:
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
                assert [chunk async for chunk in response] == [b"0\n", b"1\n", b"2\n"]
            assert (await client.request("GET", "/")).content == b"0\n1\n2\n"
            assert len(server.connections) == 1
            answer = await exchange(server.port, b"GET / HTTP/1.0\r\n\r\n", half_close=False)
            assert answer.endswith(b"\r\n\r\n0\n1\n2\n")
            await client.close()

    run(main())


def test_the_head_arrives_before_the_first_chunk(run: Run) -> None:
    async def silence() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    async def main() -> None:
        server = await serve(streaming(silence()))
        client = HttpClient(Endpoint(port=server.port))
        async with client.stream("GET", "/", timeout=60) as response:
            assert response.status == 200
            closing = asyncio.create_task(server.close(2))
            assert await asyncio.wait_for(response.read(), 60) == b""
        await closing
        await client.close()

    run(main())


def test_chunks_that_are_ready_leave_in_one_piece(run: Run) -> None:
    async def burst() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * 10
        await asyncio.sleep(0.05)
        yield b"end"

    async def main() -> None:
        async with await serve(streaming(burst())) as server:
            client = HttpClient(Endpoint(port=server.port))
            async with client.stream("GET", "/") as response:
                assert [len(chunk) async for chunk in response] == [1000, 3]
            await client.close()

    run(main())


def test_a_client_that_leaves_ends_its_stream(run: Run) -> None:
    ended = asyncio.Event()

    async def forever() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x"
                await asyncio.sleep(0.01)
        finally:
            ended.set()

    async def main() -> None:
        async with await serve(streaming(forever())) as server:
            client = HttpClient(Endpoint(port=server.port))
            async with client.stream("GET", "/") as response:
                await anext(response)
            await asyncio.wait_for(ended.wait(), 60)
            await client.close()

    run(main())


def test_a_client_that_does_not_read_is_cut_off_and_holds_little_memory(run: Run) -> None:
    produced = 0

    async def flood() -> AsyncIterator[bytes]:
        nonlocal produced
        while True:
            produced += 1
            yield b"x" * 65536

    async def main() -> None:
        async with await serve(streaming(flood()), limits=Limits(write_seconds=0.2)) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            await asyncio.sleep(0.3)
            async with asyncio.timeout(60):
                while server.connections:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            assert produced * 65536 < 32 * 1024 * 1024
            writer.close()
            del reader

    run(main())


def test_a_slow_client_slows_the_producer_and_gets_everything(run: Run) -> None:
    async def flood() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b"x" * 65536

    async def main() -> None:
        async with await serve(streaming(flood())) as server:
            client = HttpClient(Endpoint(port=server.port))
            size = 0
            async with client.stream("GET", "/") as response:
                async for chunk in response:
                    size += len(chunk)
                    if size % 7 == 0:
                        await asyncio.sleep(0.001)
            assert size == 200 * 65536
            await client.close()

    run(main())


def test_a_failing_producer_is_not_mistaken_for_the_end(run: Run) -> None:
    async def breaks() -> AsyncIterator[bytes]:
        yield b"some"
        await asyncio.sleep(0)
        raise ZeroDivisionError

    async def handler(request: Request) -> Response:
        return Response(200, {}, breaks())

    async def main() -> None:
        async with await serve(handler) as server:
            client = HttpClient(Endpoint(port=server.port))
            with pytest.raises(ConnectionClosed):
                await client.request("POST", "/")
            await client.close()

    run(main())


def test_closing_the_server_ends_streams_properly(run: Run) -> None:
    async def forever() -> AsyncIterator[bytes]:
        while True:
            yield b"x"
            await asyncio.sleep(0.01)

    async def main() -> None:
        server = await serve(streaming(forever()))
        client = HttpClient(Endpoint(port=server.port))
        async with client.stream("GET", "/") as response:
            await anext(response)
            await server.close(2)
            assert set(await response.read()) <= {ord("x")}
        await client.close()

    run(main())
