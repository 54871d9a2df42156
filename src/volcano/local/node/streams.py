"""Ports of a pod over SPDY streams, inside a WebSocket or bare: the kubelet's end of `kubectl port-forward`.

For each connection the caller opens two streams, one for errors and one for data, which name the same request.
Neighbours: `endpoint` finds the pod; `ports` talks to it; `forward` serves callers that speak WebSocket alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from volcano.http import spdy, websocket
from volcano.local.node.ports import Addresses, Inflow, PortTalk

PROTOCOL = "portforward.k8s.io"
UPGRADE = "SPDY/3.1"
VERSION_HEADER = "x-stream-protocol-version"
TUNNEL = f"{UPGRADE}+{PROTOCOL}"
"""What the protocol is called inside a WebSocket."""
MOST_STREAMS = 2048
_FAULT, _REFUSED = 1, 3


@dataclass
class _Request:
    """One connection that the caller has accepted: its two streams, 0 while one is missing."""

    port: int
    error: int = 0
    data: int = 0
    talk: PortTalk | None = None
    task: asyncio.Task[None] | None = None


class StreamSession(asyncio.Protocol):
    """One caller and all connections that it forwards."""

    def __init__(self, addresses: Addresses, transport: asyncio.Transport, rest: bytes, *, is_tunnelled: bool) -> None:
        """`is_tunnelled`: the frames come in messages of a WebSocket. `rest` is what came with the request."""
        self._addresses = addresses
        self._transport = transport
        self._inflow = Inflow(transport)
        self._frames, self._make = spdy.Reader(), spdy.Writer()
        self._messages = websocket.Reader() if is_tunnelled else None
        self._requests: dict[str, _Request] = {}
        self._streams: dict[int, _Request] = {}
        self._writable = asyncio.Event()
        self._writable.set()
        if rest:
            self.data_received(rest)

    def data_received(self, data: bytes) -> None:
        try:
            if self._messages is None:
                self._read(data)
                return
            for message in self._messages.feed(data):
                self._take_message(message)
        except websocket.Violation as error:
            self._transport.write(websocket.closing(error.code, str(error)))
            self._transport.close()
        except spdy.Violation as error:
            if self._messages is not None:
                self._transport.write(websocket.closing(1002, str(error)))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        for request in list(self._streams.values()):
            if request.task is not None:
                request.task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # What comes

    def _take_message(self, message: websocket.Message) -> None:
        if message.kind == websocket.PING:
            self._transport.write(websocket.frame(websocket.PONG, message.payload))
        elif message.kind == websocket.CLOSE:
            self._transport.close()
        elif message.kind != websocket.PONG:
            self._read(message.payload)

    def _read(self, data: bytes) -> None:
        for frame in self._frames.feed(data):
            self._take(frame)

    def _take(self, frame: spdy.Frame) -> None:
        if frame.kind == spdy.PING and frame.stream % 2:  # even numbers would answer ours, and we send none
            self._write(self._make.ping(frame.payload))
        elif frame.kind == spdy.OPENED:
            self._open(frame)
        elif frame.kind in (spdy.DATA, spdy.RESET):
            request = self._streams.get(frame.stream)
            if request is not None and frame.stream == request.data:
                self._pass_on(request, frame)

    def _open(self, frame: spdy.Frame) -> None:
        kind, port = frame.headers.get("streamtype"), frame.headers.get("port", "")
        if kind not in ("error", "data") or not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 2**16):
            self._write(self._make.reset(frame.stream, _FAULT))
            return
        if len(self._streams) >= MOST_STREAMS:
            self._write(self._make.reset(frame.stream, _REFUSED))
            return
        # Callers from before requests had names open the stream for data right after the one for errors.
        name = frame.headers.get("requestid") or f"stream {frame.stream if kind == 'error' else frame.stream - 2}"
        request = self._requests.setdefault(name, _Request(int(port)))
        if getattr(request, kind):
            self._write(self._make.reset(frame.stream, _FAULT))
            return
        setattr(request, kind, frame.stream)
        self._streams[frame.stream] = request
        self._write(self._make.reply(frame.stream))
        if request.error and request.data:
            self._begin(name, request)

    def _begin(self, name: str, request: _Request) -> None:
        del self._requests[name]

        async def say(content: bytes) -> None:
            self._write(self._make.data(request.data, content))
            await self._writable.wait()

        request.talk = PortTalk(self._addresses, request.port, self._inflow, say)
        request.task = asyncio.get_running_loop().create_task(self._talk(request, request.talk))

    def _pass_on(self, request: _Request, frame: spdy.Frame) -> None:
        if frame.kind == spdy.RESET:
            if request.task is not None:
                request.task.cancel()
        elif request.talk is not None:
            if frame.payload:
                request.talk.put(frame.payload)
            if frame.is_last:
                request.talk.put(b"")

    # What goes

    async def _talk(self, request: _Request, talk: PortTalk) -> None:
        try:
            if fault := await talk.run():
                self._write(self._make.data(request.error, fault.encode()))
        finally:
            for stream in (request.data, request.error):
                del self._streams[stream]
                self._write(self._make.data(stream, b"", is_last=True))

    def _write(self, frame: bytes) -> None:
        if not self._transport.is_closing():
            in_message = self._messages is not None
            self._transport.write(websocket.frame(websocket.BINARY, frame) if in_message else frame)


def stream_session(addresses: Addresses, *, is_tunnelled: bool) -> Callable[[asyncio.Transport, bytes], StreamSession]:
    """What takes over the connection of one request."""
    return lambda transport, rest: StreamSession(addresses, transport, rest, is_tunnelled=is_tunnelled)
