"""Clients that vanish at any moment leave nothing behind: no connection, no task, no confusion for the others."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

from tests.http.conftest import Run
from volcano.http.client import Endpoint, HttpClient
from volcano.http.message import Request, Response
from volcano.http.server import serve


async def endless(state: list[int]) -> AsyncIterator[bytes]:
    state[0] += 1
    try:
        while True:
            yield b"x" * 1000
            await asyncio.sleep(0.001)
    finally:
        state[0] -= 1


def test_vanishing_clients_leave_nothing_behind(run: Run) -> None:
    rng = random.Random(7)
    streams = [0]

    async def handler(request: Request) -> Response:
        if request.path == "/stream":
            return Response(200, {}, endless(streams))
        await asyncio.sleep(rng.random() * 0.005)
        return Response(200, {}, request.body or request.path.encode())

    async def vanish(port: int) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        raw = rng.choice(
            [
                b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 5000\r\n\r\n" + b"y" * 5000,
                b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n",
                b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n" * 50,
                b"rubbish" * 100,
            ]
        )
        with contextlib.suppress(OSError):
            writer.write(raw[: rng.randrange(1, len(raw) + 1)])
            await writer.drain()
            await asyncio.sleep(rng.random() * 0.01)
        if rng.random() < 0.5:
            writer.transport.abort()
        else:
            writer.close()

    async def behave(client: HttpClient, number: int) -> None:
        for _ in range(20):
            body = b"%d" % number * rng.randrange(1, 3000)
            assert (await client.request("POST", "/echo", body=body)).content == body

    async def main() -> None:
        async with await serve(handler) as server:
            tasks_before = len(asyncio.all_tasks())
            client = HttpClient(Endpoint(port=server.port))
            async with asyncio.TaskGroup() as group:
                for number in range(10):
                    group.create_task(behave(client, number))
                for _ in range(200):
                    group.create_task(vanish(server.port))
            await client.close()
            async with asyncio.timeout(60):
                while server.connections or streams[0] or len(asyncio.all_tasks()) > tasks_before:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)

    run(main())
