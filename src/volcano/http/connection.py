"""One server connection: parse requests, answer them in order, stream with back-pressure.

Driven by `server.Server`; a single task per connection serves its requests, so pipelined answers keep their order.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import httptools

from volcano.http.message import Handler, Peer, Request, Response, parse_target

if TYPE_CHECKING:
    from volcano.http.server import Server

log = logging.getLogger(__name__)

STREAM_BUFFER_BYTES = 64 * 1024
LINGER_SECONDS = 1.0
BODILESS = frozenset({204, 304})
STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client may cost. Sizes refuse with 431 or 413; times close the connection."""

    head_bytes: int = 64 * 1024
    body_bytes: int = 3 * 1024 * 1024
    head_seconds: float = 15.0
    body_seconds: float = 60.0
    idle_seconds: float = 180.0
    write_seconds: float = 30.0
    pipelined_requests: int = 32
    gzip_bytes: int = 128 * 1024


class Refused(Exception):
    """A message that is answered with an error before it reaches the handler; the connection closes after it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(slots=True)
class Exchange:
    """A complete request waiting for its turn, or the refusal that ends the connection."""

    request: Request
    keep_alive: bool
    http_1_0: bool = False
    refused: Refused | None = None
    upgrade: bool = False


class Connection(asyncio.Protocol):
    """The protocol instance of one accepted connection."""

    __slots__ = (
        "_body",
        "_body_bytes",
        "_closing",
        "_drained",
        "_ending",
        "_expects_continue",
        "_flush_due",
        "_handler",
        "_head_bytes",
        "_headers",
        "_in_head",
        "_loop",
        "_parser",
        "_paused_reading",
        "_peer",
        "_pending",
        "_queue",
        "_receiving_body",
        "_rest",
        "_server",
        "_since",
        "_streaming",
        "_task",
        "_transport",
        "_url",
        "_waiter",
    )

    def __init__(self, server: Server) -> None:
        self._server = server
        self._handler: Handler = server.handler
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._queue: deque[Exchange] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._pending: list[bytes] = []
        self._flush_due = False
        self._closing = False
        self._ending = False
        self._streaming = False
        self._paused_reading = False
        self._in_head = False
        self._receiving_body = False
        self._expects_continue = False
        self._rest = b""
        self._since = self._loop.time()
        self._url = b""
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._body: list[bytes] = []
        self._body_bytes = 0

    # --- asyncio.Protocol -------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._peer = peer_of(transport)
        self._server.connections.add(self)
        self._task = self._loop.create_task(self._serve())

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        self._server.forget(self)
        self._task.cancel()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._closing or self._rest:
            return
        started_in_head = self._in_head
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._rest = data[upgrade.args[0] :]
            self._transport.pause_reading()
        except httptools.HttpParserError as error:
            cause = error.__context__
            self._refuse(cause if isinstance(cause, Refused) else Refused(400, f"malformed HTTP request: {error}"))
        else:
            if started_in_head and self._in_head:
                self._head_bytes += len(data)
                if self._head_bytes > self._server.limits.head_bytes:
                    self._refuse(self._head_too_large())

    def eof_received(self) -> bool:
        """Answer what was asked completely, then close; a stream to a client that has gone silent ends."""
        if self._streaming or self._task.done() or not (self._queue or self._busy):
            return False
        self._closing = True
        return True

    def pause_writing(self) -> None:
        if self._drained is None or self._drained.done():
            self._drained = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # --- httptools callbacks ----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._in_head = True
        self._since = self._loop.time()
        self._url = b""
        self._headers = {}
        self._head_bytes = 0
        self._body = []
        self._body_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(len(name) + len(value))
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        headers = self._headers
        if key in headers:
            if key == "host":
                raise Refused(400, "more than one Host header")
            text = headers[key] + ("; " if key == "cookie" else ", ") + text
        headers[key] = text

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._receiving_body = True
        headers = self._headers
        length = headers.get("content-length")
        if length is not None and int(length) > self._server.limits.body_bytes:
            raise self._body_too_large()
        if "expect" in headers:
            if headers["expect"].lower() != "100-continue":
                raise Refused(417, f"unsupported expectation {headers['expect']!r}")
            self._expects_continue = True
            self._send_continue()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > self._server.limits.body_bytes:
            raise self._body_too_large()
        self._body.append(body)

    def on_message_complete(self) -> None:
        self._expects_continue = False
        self._receiving_body = False
        self._since = self._loop.time()
        parser = self._parser
        try:
            path, query = parse_target(self._url.decode("ascii"))
        except UnicodeDecodeError:
            raise Refused(400, "the request target has bytes outside ASCII: percent-encode them") from None
        body = self._body
        request = Request(
            parser.get_method().decode(),
            path,
            query,
            self._headers,
            body[0] if len(body) == 1 else b"".join(body),
            self._peer,
        )
        self._enqueue(
            Exchange(
                request, parser.should_keep_alive(), parser.get_http_version() == "1.0", None, parser.should_upgrade()
            )
        )

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def _busy(self) -> bool:
        """The handler is working on a request."""
        return self._waiter is None

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self._server.limits.head_bytes:
            raise self._head_too_large()

    def _head_too_large(self) -> Refused:
        return Refused(431, f"request head is larger than {self._server.limits.head_bytes} bytes")

    def _body_too_large(self) -> Refused:
        return Refused(413, f"request body is larger than {self._server.limits.body_bytes} bytes")

    def _send_continue(self) -> None:
        """Ask for the body once no earlier answer is outstanding, so that answers keep their order."""
        if self._expects_continue and not self._queue and not self._busy:
            self._expects_continue = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _refuse(self, refused: Refused) -> None:
        self._enqueue(Exchange(Request("", ""), keep_alive=False, refused=refused))
        self._closing = True

    def _enqueue(self, exchange: Exchange) -> None:
        self._queue.append(exchange)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        elif len(self._queue) >= self._server.limits.pipelined_requests and not self._paused_reading:
            self._paused_reading = True
            self._transport.pause_reading()

    async def _next(self) -> Exchange:
        if not self._queue:
            self._waiter = self._loop.create_future()
            self._send_continue()
            if self._closing:
                self._transport.close()
            await self._waiter
            self._waiter = None
        if self._paused_reading and len(self._queue) <= self._server.limits.pipelined_requests // 2:
            self._paused_reading = False
            self._transport.resume_reading()
        return self._queue.popleft()

    # --- answering --------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        """Answer requests one after another until the connection ends."""
        while True:
            exchange = await self._next()
            if exchange.refused is not None:
                response = refusal(exchange.refused)
            else:
                response = await self._handle(exchange.request)
            if exchange.upgrade and response.upgrade is not None:
                self._upgrade(response)
                return
            keep_alive = exchange.keep_alive and not exchange.upgrade and not self._server.draining
            await self._respond(exchange, response, keep_alive)
            if not keep_alive:
                self._closing = True
                if exchange.refused is not None:
                    self._linger()
                else:
                    self._transport.close()
                return
            self._since = self._loop.time()

    async def _handle(self, request: Request) -> Response:
        try:
            return await self._handler(request)
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return refusal(Refused(500, "internal error: see the server's log"))

    async def _respond(self, exchange: Exchange, response: Response, keep_alive: bool) -> None:
        body = response.body
        if not isinstance(body, bytes):
            await self._stream(exchange, response, body, keep_alive)
            return
        headers = response.headers
        if len(body) >= self._server.limits.gzip_bytes and wants_gzip(exchange.request, response):
            body = await self._loop.run_in_executor(None, gzip_body, body)
            headers = {**headers, "content-encoding": "gzip", "vary": "Accept-Encoding"}
        length = b"" if response.status in BODILESS or response.status < 200 else b"content-length: %d\r\n" % len(body)
        head = self._head(response.status, headers, keep_alive, exchange.http_1_0) + length + b"\r\n"
        if exchange.request.method == "HEAD" or not length:
            body = b""
        if len(body) > STREAM_BUFFER_BYTES:
            self._transport.writelines([head, body])
        else:
            self._transport.write(head + body)
        if self._drained is not None:
            await self._drain()

    def _head(self, status: int, headers: dict[str, str], keep_alive: bool, http_1_0: bool = False) -> bytes:
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        if not keep_alive:
            lines += "connection: close\r\n"
        elif http_1_0:
            lines += "connection: keep-alive\r\n"
        status_line = STATUS_LINES.get(status) or b"HTTP/1.1 %d Unknown\r\n" % status
        return b"%bdate: %b\r\n%b" % (status_line, self._server.date, lines.encode("latin-1", "replace"))

    async def _stream(
        self, exchange: Exchange, response: Response, body: AsyncIterator[bytes], keep_alive: bool
    ) -> None:
        """Send chunks as they come. Those ready before the producer suspends leave together in one write."""
        chunked = not exchange.http_1_0
        head = self._head(response.status, response.headers, keep_alive and chunked)
        self._pending.append(head + (b"transfer-encoding: chunked\r\n\r\n" if chunked else b"\r\n"))
        self._schedule_flush()
        self._streaming = True
        size = 0
        try:
            async with AsyncExitStack() as stack:
                if hasattr(body, "aclose"):
                    await stack.enter_async_context(aclosing(cast(Any, body)))
                if exchange.request.method != "HEAD":
                    async for chunk in body:
                        if not chunk:
                            continue
                        self._pending.append(b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk)
                        if not self._flush_due:
                            self._schedule_flush()
                            size = 0
                        size += len(chunk)
                        if size >= STREAM_BUFFER_BYTES:
                            self._flush()
                            size = 0
                        if self._drained is not None:
                            await self._drain()
        except asyncio.CancelledError:
            if not self._ending:
                raise
            keep_alive = False
        except Exception:
            log.exception("%s %s failed while streaming", exchange.request.method, exchange.request.path)
            self._flush()
            self._transport.abort()
            raise asyncio.CancelledError from None
        finally:
            self._streaming = False
        if chunked and exchange.request.method != "HEAD":
            self._pending.append(b"0\r\n\r\n")
        self._flush()
        if self._ending or not chunked:
            self._closing = True
            self._transport.close()

    def _schedule_flush(self) -> None:
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
            done, _ = await asyncio.wait([waiting], timeout=self._server.limits.write_seconds)
            if not done and self._transport.get_write_buffer_size() >= before:
                log.info("closing the connection of %s: it stopped reading", self._peer.address or "a local client")
                self._transport.abort()
                raise asyncio.CancelledError
        self._drained = None

    def _upgrade(self, response: Response) -> None:
        assert response.upgrade is not None
        self._transport.write(self._head(101, response.headers, keep_alive=True) + b"\r\n")
        self._server.forget(self)
        protocol = response.upgrade(self._transport, self._rest)
        self._transport.set_protocol(protocol)
        self._transport.resume_reading()

    # --- closing ----------------------------------------------------------------------------------------------------

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
        elif not self._queue and not self._busy:
            self._closing = True
            self._transport.close()

    def abort(self) -> None:
        self._closing = True
        self._transport.abort()

    def sweep(self, now: float) -> None:
        """Close the connection when it has been idle, or a request arriving, for too long."""
        if self._queue or self._busy:
            return
        limits = self._server.limits
        if self._in_head:
            allowed = limits.head_seconds
        elif self._receiving_body:
            allowed = limits.body_seconds
        else:
            allowed = limits.idle_seconds
        if now - self._since > allowed:
            self._closing = True
            self._transport.close()


def peer_of(transport: asyncio.BaseTransport) -> Peer:
    """The peer of a transport, with the subject of its client certificate when TLS verified one."""
    address = transport.get_extra_info("peername")
    certificate = transport.get_extra_info("peercert")
    common_name = None
    organizations = []
    for attributes in (certificate or {}).get("subject", ()):
        for name, value in attributes:
            if name == "commonName":
                common_name = value
            elif name == "organizationName":
                organizations.append(value)
    if isinstance(address, tuple):
        return Peer(common_name, tuple(organizations), f"{address[0]}:{address[1]}")
    return Peer(common_name, tuple(organizations), "", unix=True)


def refusal(refused: Refused) -> Response:
    return Response(refused.status, {"content-type": "text/plain; charset=utf-8"}, refused.message.encode() + b"\n")


def wants_gzip(request: Request, response: Response) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "") and "content-encoding" not in response.headers


def gzip_body(body: bytes) -> bytes:
    return zlib.compress(body, 1, wbits=31)
