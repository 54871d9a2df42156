"""The streams of a running container, over a WebSocket: the kubelet's end of `kubectl attach`.

Neighbours: `logs` follows what it says, `supervisor.pod` holds the pipe that it reads, `channels` carries.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from volcano.http import websocket
from volcano.local.node.channels import ChannelSession
from volcano.local.node.exec import END, ERROR, RESIZE, STDERR, STDIN, STDOUT, failure, resize, verdict
from volcano.local.node.ports import Inflow


class Typing:
    """What a caller types, on its way into the pipe that a container reads."""

    def __init__(self, pipe: Path, ended: Callable[[], None]) -> None:
        """`ended` is called once no more will be typed."""
        self._pipe = pipe
        self._ended = ended
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._is_read = True

    def put(self, content: bytes, inflow: Inflow) -> None:
        """Pass on what was typed; b"" says that no more will come."""
        if self._is_read:
            inflow.count(len(content))
            self._queue.put_nowait(content)

    async def run(self, inflow: Inflow) -> None:
        """Type until the caller ends, or the container reads no more."""
        try:
            pipe = os.open(self._pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:  # it reads nothing, or no longer: what is typed goes nowhere
            self._is_read = False
            return
        try:
            while content := await self._queue.get():
                await _write(pipe, content)
                inflow.count(-len(content))
        except BrokenPipeError:
            self._is_read = False
        finally:
            os.close(pipe)
            self._ended()


async def _write(pipe: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        try:
            rest = rest[os.write(pipe, rest) :]
        except BlockingIOError:
            await _writable(pipe)


async def _writable(pipe: int) -> None:
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    loop.add_writer(pipe, event.set)
    try:
        await event.wait()
    finally:
        loop.remove_writer(pipe)


def follow_size(device: Path, content: bytes) -> None:
    """Give a container's terminal the size that the resize channel tells."""
    with contextlib.suppress(OSError):  # the container has ended
        terminal = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            resize(terminal, content)
        finally:
            os.close(terminal)


class AttachSession(ChannelSession):
    """Passes on what the container writes and, with `typing`, what it reads, until it has ended or the caller goes.

    `terminal` is the device of the container's terminal, which follows the size of the caller's.
    """

    def __init__(
        self,
        spoken: AsyncIterator[tuple[bool, bytes]],
        typing: Typing | None,
        terminal: Path | None,
        transport: asyncio.Transport,
        rest: bytes,
    ) -> None:
        self._spoken = spoken
        self._typing = typing
        self._terminal = terminal
        self._inflow = Inflow(transport)
        super().__init__(transport, rest)

    def _receive(self, channel: int, content: bytes) -> None:
        if channel == RESIZE and self._terminal is not None:
            follow_size(self._terminal, content)
        elif self._typing is None:
            return
        elif channel == STDIN and content:
            self._typing.put(content, self._inflow)
        elif channel == END and content[:1] == bytes([STDIN]):
            self._typing.put(b"", self._inflow)

    async def _run(self) -> None:
        typed = None
        if self._typing is not None:
            typed = asyncio.get_running_loop().create_task(self._typing.run(self._inflow))
        try:
            async for is_error, text in self._spoken:
                self._send(STDERR if is_error else STDOUT, text)
                await self._writable.wait()
            self._send(ERROR, json.dumps(verdict(0)).encode())
            self._transport.write(websocket.closing(1000))
        except OSError as error:
            self._send(ERROR, json.dumps(failure(str(error))).encode())
        finally:
            if typed is not None:
                typed.cancel()
            self._transport.close()
