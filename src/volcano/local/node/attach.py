"""The output of a running container, over a WebSocket: the kubelet's end of `kubectl attach`.

Containers read nothing here, so what the caller types goes nowhere, as for a container without `stdin: true`.
Neighbours: `logs` follows, `channels` carries.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from volcano.http import websocket
from volcano.local.node.channels import ChannelSession
from volcano.local.node.exec import ERROR, STDERR, STDOUT, failure, verdict


class AttachSession(ChannelSession):
    """Passes on what the container writes, until it has ended or the caller goes."""

    def __init__(self, spoken: AsyncIterator[tuple[bool, bytes]], transport: asyncio.Transport, rest: bytes) -> None:
        self._spoken = spoken
        super().__init__(transport, rest)

    def _receive(self, channel: int, content: bytes) -> None:
        """Nobody reads it."""

    async def _run(self) -> None:
        try:
            async for is_error, text in self._spoken:
                self._send(STDERR if is_error else STDOUT, text)
                await self._writable.wait()
            self._send(ERROR, json.dumps(verdict(0)).encode())
            self._transport.write(websocket.closing(1000))
        except OSError as error:
            self._send(ERROR, json.dumps(failure(str(error))).encode())
        finally:
            self._transport.close()
