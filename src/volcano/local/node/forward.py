"""Ports of a pod over a WebSocket: the kubelet's end of port forwarding, for clients that tunnel nothing.

Neighbours: `endpoint` finds the pod; `ports` talks to it; `channels` carries; `streams` does the same for kubectl.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from volcano.http import websocket
from volcano.local.node.channels import ChannelSession
from volcano.local.node.ports import Addresses, Inflow, PortTalk

PROTOCOLS = ("v4.channel.k8s.io",)
MOST_PORTS = 64
"""Two channels each; a channel is one byte."""


class ForwardSession(ChannelSession):
    """The ports of one request. Port i talks on channel 2i and tells on channel 2i + 1 what went wrong."""

    def __init__(self, addresses: Addresses, ports: Sequence[int], transport: asyncio.Transport, rest: bytes) -> None:
        self._ports = ports
        inflow = Inflow(transport)
        self._talks = [PortTalk(addresses, port, inflow, self._answerer(2 * index)) for index, port in enumerate(ports)]
        super().__init__(transport, rest)

    def _receive(self, channel: int, content: bytes) -> None:
        index, is_error = divmod(channel, 2)
        if content and not is_error and index < len(self._talks):
            self._talks[index].put(content)

    async def _run(self) -> None:
        """Say which channel is which port, then serve each until its end; the last one ends the session."""
        for index, port in enumerate(self._ports):
            for channel in (2 * index, 2 * index + 1):
                self._send(channel, port.to_bytes(2, "little"))
        await asyncio.gather(*(self._forward(index, talk) for index, talk in enumerate(self._talks)))
        self._transport.write(websocket.closing(1000))
        self._transport.close()

    async def _forward(self, index: int, talk: PortTalk) -> None:
        if fault := await talk.run():
            self._send(2 * index + 1, fault.encode())

    def _answerer(self, channel: int) -> Callable[[bytes], Awaitable[None]]:
        async def answer(content: bytes) -> None:
            self._send(channel, content)
            await self._writable.wait()

        return answer


def parse_ports(values: Sequence[str]) -> list[int]:
    """The ports of a request, each given alone or in a list. Raises ValueError."""
    texts = [text for value in values for text in value.split(",")]
    ports = [int(text) for text in texts if text.isascii() and text.isdigit() and len(text) <= 5]
    if not texts or len(ports) != len(texts) or not all(0 < port < 2**16 for port in ports):
        raise ValueError(f"ports {','.join(texts)!r}: expected numbers from 1 to 65535")
    if len(ports) > MOST_PORTS:
        raise ValueError(f"{len(ports)} ports: at most {MOST_PORTS} can be forwarded at once")
    return ports
