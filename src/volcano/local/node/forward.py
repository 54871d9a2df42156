"""Ports of a pod over a WebSocket: the kubelet's end of port forwarding, for clients that tunnel nothing.

Neighbours: `endpoint` finds the pod; `exec` does the same for commands; `http.websocket` frames.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from volcano.http import websocket

PROTOCOLS = ("v4.channel.k8s.io",)
CONNECT_SECONDS = 5.0
MOST_PORTS = 64
"""Two channels each; a channel is one byte."""
_CHUNK_BYTES = 32 * 1024
_UNSENT_BYTES = 256 * 1024


class ForwardSession(asyncio.Protocol):
    """The ports of one request. Port i talks on channel 2i and tells on channel 2i + 1 what went wrong."""

    def __init__(self, hosts: Sequence[str], ports: Sequence[int], transport: asyncio.Transport, rest: bytes) -> None:
        self._hosts = hosts
        self._transport = transport
        self._reader = websocket.Reader()
        self._writable = asyncio.Event()
        self._writable.set()
        self._queues: list[asyncio.Queue[bytes]] = [asyncio.Queue() for _ in ports]
        self._unsent = 0
        self._task = asyncio.get_running_loop().create_task(self._run(ports))
        if rest:
            self.data_received(rest)

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._reader.feed(data):
                self._receive(message)
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

    def _receive(self, message: websocket.Message) -> None:
        if message.kind == websocket.PING:
            self._transport.write(websocket.frame(websocket.PONG, message.payload))
        elif message.kind == websocket.CLOSE:
            self._transport.close()
        elif message.payload:
            index, is_error = divmod(message.payload[0], 2)
            if not is_error and index < len(self._queues):
                self._queues[index].put_nowait(message.payload[1:])
                self._count(len(message.payload) - 1)

    async def _run(self, ports: Sequence[int]) -> None:
        """Say which channel is which port, then serve each until its end; the last one ends the session."""
        for index, port in enumerate(ports):
            for channel in (2 * index, 2 * index + 1):
                self._send(channel, port.to_bytes(2, "little"))
        await asyncio.gather(*(self._forward(index, port) for index, port in enumerate(ports)))
        self._transport.write(websocket.closing(1000))
        self._transport.close()

    async def _forward(self, index: int, port: int) -> None:
        try:
            reader, writer = await self._connected(port)
        except (OSError, TimeoutError) as error:
            self._send(2 * index + 1, f"nothing listens on port {port} of the pod: {error}".encode())
            return
        feeding = asyncio.get_running_loop().create_task(self._feed(index, writer))
        try:
            with suppress(ConnectionError):
                while content := await reader.read(_CHUNK_BYTES):
                    self._send(2 * index, content)
                    await self._writable.wait()
        finally:
            feeding.cancel()
            writer.close()

    async def _connected(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To the pod's own address; to loopback where the program listens there only, as in a pod of its own."""
        failure: OSError | TimeoutError | None = None
        for host in self._hosts:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(host, port)
            except (OSError, TimeoutError) as error:
                failure = failure or error
        raise failure or OSError("the pod has no address")

    async def _feed(self, index: int, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while True:
                content = await self._queues[index].get()
                writer.write(content)
                await writer.drain()
                self._count(-len(content))

    def _count(self, change: int) -> None:
        """Read on from the caller only while the pod takes what has come."""
        before, self._unsent = self._unsent, self._unsent + change
        if self._transport.is_closing():
            return
        if before <= _UNSENT_BYTES < self._unsent:
            self._transport.pause_reading()
        elif self._unsent <= _UNSENT_BYTES < before:
            self._transport.resume_reading()

    def _send(self, channel: int, content: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(websocket.frame(websocket.BINARY, bytes([channel]) + content))


def parse_ports(values: Sequence[str]) -> list[int]:
    """The ports of a request, each given alone or in a list. Raises ValueError."""
    texts = [text for value in values for text in value.split(",")]
    ports = [int(text) for text in texts if text.isascii() and text.isdigit() and len(text) <= 5]
    if not texts or len(ports) != len(texts) or not all(0 < port < 2**16 for port in ports):
        raise ValueError(f"ports {','.join(texts)!r}: expected numbers from 1 to 65535")
    if len(ports) > MOST_PORTS:
        raise ValueError(f"{len(ports)} ports: at most {MOST_PORTS} can be forwarded at once")
    return ports
