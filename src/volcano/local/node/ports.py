"""One connection to a port of a pod, fed by whoever forwards it.

Neighbours: `forward` carries such connections on the channels of a WebSocket, `streams` on SPDY streams; `listeners`
knows where the pod listens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

CONNECT_SECONDS = 5.0
CHUNK_BYTES = 32 * 1024
_UNSENT_BYTES = 256 * 1024

Addresses = Callable[[int], Sequence[str]]
"""Where a port of a pod is the pod's own; reads /proc."""


class Inflow:
    """What has come from the caller for all ports and has not been taken: beyond a bound nothing more is read."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._bytes = 0

    def count(self, change: int) -> None:
        before, self._bytes = self._bytes, self._bytes + change
        if self._transport.is_closing():
            return
        if before <= _UNSENT_BYTES < self._bytes:
            self._transport.pause_reading()
        elif self._bytes <= _UNSENT_BYTES < before:
            self._transport.resume_reading()


class PortTalk:
    """`put` what the caller sends; `say` gets what the pod answers."""

    def __init__(
        self, addresses: Addresses, port: int, inflow: Inflow, say: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """The `addresses` are tried in turn."""
        self._addresses = addresses
        self._port = port
        self._inflow = inflow
        self._say = say
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._unsent = 0

    def put(self, content: bytes) -> None:
        """Pass bytes on to the pod; b"" says that no more will come."""
        self._queue.put_nowait(content)
        self._count(len(content))

    async def run(self) -> str:
        """Talk until the pod has said all; what went wrong, or ""."""
        feeding: asyncio.Task[None] | None = None
        try:
            reader, writer = await self._connected()
            feeding = asyncio.get_running_loop().create_task(self._feed(writer))
            try:
                with suppress(ConnectionError):
                    while content := await reader.read(CHUNK_BYTES):
                        await self._say(content)
            finally:
                writer.close()
        except (OSError, TimeoutError) as error:
            return f"nothing listens on port {self._port} of the pod: {error}"
        finally:
            if feeding is not None:
                feeding.cancel()
            self._count(-self._unsent)
        return ""

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To where the pod itself listens: loopback leads to other programs' ports, too."""
        failure: OSError | TimeoutError | None = None
        for host in await asyncio.to_thread(self._addresses, self._port):
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(host, self._port)
            except (OSError, TimeoutError) as error:
                failure = failure or error
        raise failure or OSError("no program of it does, whatever else on this machine may")

    async def _feed(self, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while content := await self._queue.get():
                writer.write(content)
                await writer.drain()
                self._count(-len(content))
            writer.write_eof()

    def _count(self, change: int) -> None:
        self._unsent += change
        self._inflow.count(change)
