"""What commands and ports have in common: a WebSocket whose messages begin with the number of a channel.

Neighbours: `exec` and `forward` say what the channels carry; `http.websocket` frames.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

from volcano.http import websocket

CHUNK_BYTES = 32 * 1024


class ChannelSession(asyncio.Protocol, ABC):
    """One caller and the task that serves it. Ends the task when the caller goes."""

    def __init__(self, transport: asyncio.Transport, rest: bytes) -> None:
        """`rest` is what came with the request; all else must be ready to receive it."""
        self._transport = transport
        self._reader = websocket.Reader()
        self._writable = asyncio.Event()
        self._writable.set()
        self._task = asyncio.get_running_loop().create_task(self._run())
        if rest:
            self.data_received(rest)

    @abstractmethod
    async def _run(self) -> None: ...

    @abstractmethod
    def _receive(self, channel: int, content: bytes) -> None: ...

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._reader.feed(data):
                self._take(message)
        except websocket.Violation as error:
            self._transport.write(websocket.closing(error.code, str(error)))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _take(self, message: websocket.Message) -> None:
        if message.kind == websocket.PING:
            self._transport.write(websocket.frame(websocket.PONG, message.payload))
        elif message.kind == websocket.CLOSE:
            self._transport.close()
        elif message.payload:
            self._receive(message.payload[0], message.payload[1:])

    async def _pump(self, stream: asyncio.StreamReader, channel: int) -> None:
        """All of the stream to the channel, as fast as the caller reads."""
        while content := await stream.read(CHUNK_BYTES):
            self._send(channel, content)
            await self._writable.wait()

    def _send(self, channel: int, content: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(websocket.frame(websocket.BINARY, bytes([channel]) + content))


def choose_protocol(offered: str, known: Sequence[str]) -> str | None:
    """The newest sub-protocol that both sides know."""
    names = [name.strip() for name in offered.split(",")]
    return next((protocol for protocol in known if protocol in names), None)
