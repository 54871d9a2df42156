"""One server connection: answer its requests in order, stream with back-pressure, end properly.

Driven by `server.Server`; `reading` parses. A single task per connection keeps pipelined answers in order.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from volcano.http.message import Handler, Request, Response
from volcano.http.reading import Exchange, Limits, Refused, RequestReader, plain
from volcano.http.sockets import keep_probing, peer_of

if TYPE_CHECKING:
    from volcano.http.server import Server

log = logging.getLogger(__name__)

STREAM_BUFFER_BYTES = 64 * 1024
LINGER_SECONDS = 1.0
GOODBYE_SECONDS = 0.25
"""How long the peer of an idle TLS connection may take to confirm the end of it when the server stops."""
BODILESS = frozenset({204, 304})
STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class Connection(asyncio.Protocol):
    """The protocol instance of one accepted connection."""

    __slots__ = (
        "_drained",
        "_ending",
        "_flush_due",
        "_handler",
        "_limits",
        "_loop",
        "_no_more",
        "_pending",
        "_queue",
        "_reader",
        "_reading_paused",
        "_server",
        "_streaming",
        "_task",
        "_transport",
        "_waiter",
    )

    def __init__(self, server: Server) -> None:
        self._server = server
        self._handler: Handler = server.handler
        self._limits: Limits = server.limits
        self._loop = asyncio.get_running_loop()
        self._queue: deque[Exchange] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._pending: list[bytes] = []
        self._flush_due = False
        self._no_more = False
        self._ending = False
        self._streaming = False
        self._reading_paused = False

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        keep_probing(transport)
        self._reader = RequestReader(self._limits, peer_of(transport), self._enqueue, self._loop.time)
        self._task = self._loop.create_task(self._serve())
        self._server.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._no_more = True
        self._server.forget(self)
        self._task.cancel()
        self._task.add_done_callback(self._let_go)
        self.resume_writing()

    def _let_go(self, _task: asyncio.Task[None]) -> None:
        """A TLS transport has large buffers, and this object lives in a cycle until the collector finds it."""
        del self._transport

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        if self._no_more:
            return
        reader.feed(data)
        if reader.expects_continue:
            self._send_continue()
        if reader.finished:
            self._no_more = True
            if reader.rest:
                self._pause_reading()

    def eof_received(self) -> bool:
        """Answer what was asked completely, then close; a stream to a client that has gone silent ends."""
        self._no_more = True
        if self._streaming or self._task.done() or not self._transport.can_write_eof():  # TLS cannot half-close
            return False
        return self._busy or bool(self._queue)

    def pause_writing(self) -> None:
        if self._drained is None or self._drained.done():
            self._drained = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # The queue of requests

    @property
    def _busy(self) -> bool:
        """The handler is working on a request."""
        return self._waiter is None

    @property
    def idle(self) -> bool:
        """No request is waiting or being answered; one may be arriving."""
        return not self._queue and not self._busy

    @property
    def since(self) -> float:
        """When the connection came into its present state."""
        return self._reader.since

    def _enqueue(self, exchange: Exchange) -> None:
        self._queue.append(exchange)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        elif len(self._queue) >= self._limits.pipelined_requests:
            self._pause_reading()

    async def _next(self) -> Exchange:
        if not self._queue:
            self._waiter = self._loop.create_future()
            if self._no_more:
                self._transport.close()
            self._send_continue()
            await self._waiter
            self._waiter = None
        if self._reading_paused and len(self._queue) <= self._limits.pipelined_requests // 2:
            self._reading_paused = False
            self._transport.resume_reading()
        return self._queue.popleft()

    def _pause_reading(self) -> None:
        if not self._reading_paused and not self._transport.is_closing():
            self._reading_paused = True
            self._transport.pause_reading()

    def _send_continue(self) -> None:
        """Ask for the body once no earlier answer is outstanding, so that answers keep their order."""
        if self._reader.expects_continue and not self._queue and not self._busy:
            self._reader.expects_continue = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    # Answering

    async def _serve(self) -> None:
        """Answer requests one after another until the connection ends."""
        keep_alive = True
        while keep_alive:
            exchange = await self._next()
            if exchange.refused is not None:
                await self._send_whole(exchange, self._server.answer_to(exchange.refused), keep_alive=False)
                self._linger()
                return
            response = await self._handle(exchange.request)
            if exchange.upgrade and response.upgrade is not None:
                self._upgrade(response)
                return
            keep_alive = exchange.keep_alive and not exchange.upgrade and not self._server.draining
            if isinstance(response.body, bytes):
                await self._send_whole(exchange, response, keep_alive=keep_alive)
            else:
                keep_alive = await self._send_stream(exchange, response, response.body, keep_alive=keep_alive)
            self._reader.since = self._loop.time()
        self._no_more = True
        self._transport.close()

    async def _handle(self, request: Request) -> Response:
        try:
            return await self._handler(request)
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return plain(Refused(500, "internal error: see the server's log"))

    async def _send_whole(self, exchange: Exchange, response: Response, *, keep_alive: bool) -> None:
        body, headers = response.content, response.headers
        if len(body) >= self._limits.gzip_bytes and wants_gzip(exchange.request, response):
            body = await self._loop.run_in_executor(None, gzip_body, body)
            headers = {**headers, "content-encoding": "gzip", "vary": "Accept-Encoding"}
        has_body = response.status not in BODILESS
        length = b"content-length: %d\r\n\r\n" % len(body) if has_body else b"\r\n"
        head = self._head(response.status, headers, keep_alive=keep_alive, old=not exchange.chunked) + length
        if exchange.request.method == "HEAD" or not has_body:
            body = b""
        if len(body) > STREAM_BUFFER_BYTES:
            self._transport.writelines([head, body])
        else:
            self._transport.write(head + body)
        if self._drained is not None:
            await self._drain()

    async def _send_stream(
        self, exchange: Exchange, response: Response, body: AsyncIterator[bytes], *, keep_alive: bool
    ) -> bool:
        """Send chunks as they come; True when the connection can be used again.

        A producer that fails cuts the connection, so that nobody takes what arrived for the whole.
        """
        chunked = exchange.chunked
        keep_alive = keep_alive and chunked
        head = self._head(response.status, response.headers, keep_alive=keep_alive, old=not chunked)
        self._push(head + (b"transfer-encoding: chunked\r\n\r\n" if chunked else b"\r\n"))
        wanted = exchange.request.method != "HEAD"
        self._streaming = True
        try:
            async with AsyncExitStack() as stack:
                close = getattr(body, "aclose", None)
                if close is not None:
                    stack.push_async_callback(close)
                if wanted:
                    await self._pump(body, chunked=chunked)
        except asyncio.CancelledError:
            if not self._ending:
                raise
            keep_alive = False
        except Exception:
            log.exception("%s %s failed while streaming", exchange.request.method, exchange.request.path)
            self._flush()
            self._transport.abort()
            return False
        finally:
            self._streaming = False
        if chunked and wanted:
            self._pending.append(b"0\r\n\r\n")
        self._flush()
        return keep_alive

    async def _pump(self, body: AsyncIterator[bytes], *, chunked: bool) -> None:
        """Chunks that are ready before the producer suspends leave together in one write."""
        size = 0
        async for chunk in body:
            if not chunk:
                continue
            if not self._flush_due:
                size = 0
            self._push(b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk)
            size += len(chunk)
            if size >= STREAM_BUFFER_BYTES:
                self._flush()
            if self._drained is not None:
                await self._drain()

    def _push(self, data: bytes) -> None:
        self._pending.append(data)
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        pending = self._pending
        if pending:
            self._pending = []
            if not self._transport.is_closing():
                self._transport.write(pending[0] if len(pending) == 1 else b"".join(pending))

    async def _drain(self) -> None:
        """Wait until the peer has read enough; one that reads nothing for `write_seconds` is cut off."""
        waiting = self._drained
        while waiting is not None and not waiting.done():
            before = self._transport.get_write_buffer_size()
            await asyncio.wait([waiting], timeout=self._limits.write_seconds)
            if not waiting.done() and self._transport.get_write_buffer_size() >= before:
                log.info("cutting off %s: it does not read its answer", self._transport.get_extra_info("peername"))
                self._transport.abort()
                await self._loop.create_future()  # until connection_lost cancels this task
        self._drained = None

    def _head(self, status: int, headers: dict[str, str], *, keep_alive: bool, old: bool) -> bytes:
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
            lines = "".join([f"{one_line(name)}: {one_line(value)}\r\n" for name, value in headers.items()])
        if not keep_alive:
            lines += "connection: close\r\n"
        elif old:
            lines += "connection: keep-alive\r\n"
        status_line = STATUS_LINES.get(status) or b"HTTP/1.1 %d Unknown\r\n" % status
        return b"%bdate: %b\r\n%b" % (status_line, self._server.date, lines.encode("latin-1", "replace"))

    def _upgrade(self, response: Response) -> None:
        """Hand the connection over to another protocol."""
        assert response.upgrade is not None
        self._transport.write(self._head(101, response.headers, keep_alive=True, old=False) + b"\r\n")
        self._server.forget(self)
        self._transport.set_protocol(response.upgrade(self._transport, self._reader.rest))
        if self._reading_paused:
            self._transport.resume_reading()

    # Ending

    def _linger(self) -> None:
        """Close only after the peer had time to read the answer: closing on unread input would reset the connection."""
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._loop.call_later(LINGER_SECONDS, self._transport.close)

    def drain(self) -> None:
        """The server stops: idle connections close, streams end properly, answers in flight finish first."""
        if self._streaming:
            self._ending = True
            self._task.cancel()
        elif self.idle:
            self._no_more = True
            self._transport.close()
            self._loop.call_later(GOODBYE_SECONDS, self._transport.abort)

    def abort(self) -> None:
        self._transport.abort()

    def sweep(self, now: float) -> None:
        """Close the connection when it has been idle, or a request arriving, for too long."""
        if self.idle and now - self.since > self._reader.allowed_seconds():
            self._no_more = True
            self._transport.close()


def wants_gzip(request: Request, response: Response) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "") and "content-encoding" not in response.headers


def gzip_body(body: bytes) -> bytes:
    return zlib.compress(body, 1, wbits=31)


def one_line(text: str) -> str:
    """Header text without the line breaks that would end it."""
    return text.replace("\r", " ").replace("\n", " ")
