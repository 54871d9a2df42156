"""Ports of a pod over a WebSocket: the kubelet's end of port forwarding, for clients that tunnel nothing.

Neighbours: `endpoint` finds the pod; `exec` does the same for commands; `channels` carries both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from volcano.http import websocket
from volcano.local.node.channels import ChannelSession

PROTOCOLS = ("v4.channel.k8s.io",)
CONNECT_SECONDS = 5.0
MOST_PORTS = 64
"""Two channels each; a channel is one byte."""
_UNSENT_BYTES = 256 * 1024


class ForwardSession(ChannelSession):
    """The ports of one request. Port i talks on channel 2i and tells on channel 2i + 1 what went wrong."""

    def __init__(self, hosts: Sequence[str], ports: Sequence[int], transport: asyncio.Transport, rest: bytes) -> None:
        self._hosts = hosts
        self._ports = ports
        self._queues: list[asyncio.Queue[bytes]] = [asyncio.Queue() for _ in ports]
        self._unsent = 0
        super().__init__(transport, rest)

    def _receive(self, channel: int, content: bytes) -> None:
        index, is_error = divmod(channel, 2)
        if not is_error and index < len(self._queues):
            self._queues[index].put_nowait(content)
            self._count(len(content))

    async def _run(self) -> None:
        """Say which channel is which port, then serve each until its end; the last one ends the session."""
        for index, port in enumerate(self._ports):
            for channel in (2 * index, 2 * index + 1):
                self._send(channel, port.to_bytes(2, "little"))
        await asyncio.gather(*(self._forward(index, port) for index, port in enumerate(self._ports)))
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
                await self._pump(reader, 2 * index)
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


def parse_ports(values: Sequence[str]) -> list[int]:
    """The ports of a request, each given alone or in a list. Raises ValueError."""
    texts = [text for value in values for text in value.split(",")]
    ports = [int(text) for text in texts if text.isascii() and text.isdigit() and len(text) <= 5]
    if not texts or len(ports) != len(texts) or not all(0 < port < 2**16 for port in ports):
        raise ValueError(f"ports {','.join(texts)!r}: expected numbers from 1 to 65535")
    if len(ports) > MOST_PORTS:
        raise ValueError(f"{len(ports)} ports: at most {MOST_PORTS} can be forwarded at once")
    return ports
