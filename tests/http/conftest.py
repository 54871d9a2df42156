"""Runs coroutines on both event loops, and speaks raw bytes to a server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest
import uvloop

from volcano.http.message import Request, Response

Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine to its end on a fresh event loop; an error nobody handles fails the test."""

    def runner(main: Coroutine[Any, Any, None]) -> None:
        unhandled: list[dict[str, Any]] = []
        factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop
        with asyncio.Runner(loop_factory=factory) as loop_runner:
            loop_runner.get_loop().set_exception_handler(lambda _, context: unhandled.append(context))
            loop_runner.run(main)
        assert unhandled == []

    return runner


async def echo(request: Request) -> Response:
    """Answers with the request as JSON."""
    document = {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "body": request.body.decode("latin-1"),
        "headers": request.headers,
    }
    return Response(200, {"content-type": "application/json"}, msgspec.json.encode(document))


async def exchange(port: int, *parts: bytes, pause: float = 0.0, half_close: bool = True) -> bytes:
    """Send raw bytes, close the sending side, and read everything the server answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.suppress(OSError):
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)
        if half_close:
            writer.write_eof()
    answer = b""
    async with asyncio.timeout(60):
        with contextlib.suppress(OSError):
            while chunk := await reader.read(65536):
                answer += chunk
    writer.close()
    return answer
