"""One client connection: send a prepared request, read one answer, whole or as a stream.

Pooled by `client.HttpClient`; at most one exchange is in flight on a connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import httptools

from volcano.http.errors import ConnectionClosed, HttpError, ProtocolError, RequestTimeout
from volcano.http.heads import AnswerHead
from volcano.http.message import Response
from volcano.http.sockets import keep_probing

READ_AHEAD_BYTES = 256 * 1024


class StreamingResponse:
    """An answer whose body arrives over time: iterate over its chunks, which are joined when several are ready."""

    __slots__ = ("_connection", "headers", "status")

    def __init__(self, status: int, headers: dict[str, str], connection: ClientConnection) -> None:
        self.status = status
        self.headers = headers
        self._connection = connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = await self._connection.read()
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    async def read(self) -> bytes:
        """The rest of the body, whole."""
        return b"".join([chunk async for chunk in self])


class ClientConnection(AnswerHead, asyncio.Protocol):
    """The protocol instance of one connection to a server."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        """Kept beside the timer: uvloop's have no `when` if they are due at once."""
        self._deadline = 0.0
        self.idle_since = 0.0
        self._lost = False
        self._exchanging = False
        self._reusable = True
        self._error: HttpError | None = None
        self._streamed = False
        self._head_only = False
        self._reset()

    def _reset(self) -> None:
        self._expect_head()
        self._complete = False
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._reading_paused = False

    @property
    def usable(self) -> bool:
        """Another request may be sent on this connection."""
        return not self._lost and not self._exchanging and self._reusable and not self._transport.is_closing()

    async def exchange(self, payload: bytes, seconds: float, *, head_only: bool = False) -> Response:
        """Send a request and wait for the whole answer."""
        self._begin(payload, seconds, head_only=head_only, streamed=False)
        try:
            while not self._complete:
                await self._wait()
        finally:
            self._finish()
        body = self._body
        return Response(self.status, self.headers, body[0] if len(body) == 1 else b"".join(body))

    async def open(self, payload: bytes, seconds: float, *, head_only: bool = False) -> StreamingResponse:
        """Send a request and wait for the answer's head; the body is read through the returned response."""
        self._begin(payload, seconds, head_only=head_only, streamed=True)
        try:
            while not self._head_done:
                await self._wait()
        except BaseException:
            self._finish()
            raise
        self._deadline = 0.0
        return StreamingResponse(self.status, self.headers, self)

    async def read(self) -> bytes | None:
        """The body bytes received since the last call, or None at the end of the answer."""
        while not self._body and not self._complete:
            await self._wait()
        if self._body:
            body = self._body
            self._body = []
            self._body_bytes = 0
            if self._reading_paused:
                self._reading_paused = False
                self._transport.resume_reading()
            return body[0] if len(body) == 1 else b"".join(body)
        self._finish()
        return None

    def close(self) -> None:
        if not self._lost:
            self._transport.close()

    def _begin(self, payload: bytes, seconds: float, *, head_only: bool, streamed: bool) -> None:
        if self._lost:
            raise ConnectionClosed("the server closed the connection", answered=False)
        self._reset()
        self._exchanging = True
        self._streamed = streamed
        self._head_only = head_only
        self._deadline = deadline = self._loop.time() + seconds
        if self._timer is None or self._timer_due > deadline + 1.0:
            if self._timer is not None:
                self._timer.cancel()
            self._check_at(deadline)
        self._transport.write(payload)

    def _finish(self) -> None:
        """The exchange is over; an incomplete one leaves the connection unusable."""
        self._deadline = 0.0
        if self._complete:
            self._exchanging = False
            self.idle_since = self._loop.time()
        else:
            self._reusable = False

    def _check_deadline(self) -> None:
        """The one timer of a connection: it fires late and looks at the deadline of the day."""
        self._timer = None
        if self._lost:
            return
        deadline = self._deadline
        if deadline == 0.0:
            return
        if self._loop.time() >= deadline:
            self._fail(RequestTimeout("the server did not answer in time"))
            self._transport.abort()
        else:
            self._check_at(deadline)

    def _check_at(self, due: float) -> None:
        self._timer_due = due
        self._timer = self._loop.call_at(due, self._check_deadline)

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if self._error is not None and not self._complete and not (self._streamed and self._body):
            raise self._error

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _fail(self, error: HttpError) -> None:
        if self._error is None:
            self._error = error
        self._reusable = False
        self._wake()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        keep_probing(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._timer is not None:
            self._timer.cancel()
        if self._exchanging and not self._complete and self._error is None:
            if self._head_done and self._until_close:
                self._complete = True
                self._wake()
            else:
                text = f"the connection broke: {exc}" if exc else "the server closed the connection"
                self._fail(ConnectionClosed(text, answered=self._answered))

    def data_received(self, data: bytes) -> None:
        if not self._exchanging:
            self._reusable = False
            self._transport.close()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            if not self._complete:
                self._fail(ProtocolError(f"the server's answer is not valid HTTP: {error}"))
            self._reusable = False
            self._transport.close()

    # httptools callbacks

    def _head_arrived(self) -> None:
        if not self._parser.should_keep_alive():
            self._reusable = False
        if self._head_only:
            self._complete = True
            self._reusable = False
            self._wake()
        elif self._streamed:
            self._wake()

    def on_body(self, body: bytes) -> None:
        self._body.append(body)
        if self._streamed:
            self._body_bytes += len(body)
            if self._body_bytes > READ_AHEAD_BYTES and not self._reading_paused:
                self._reading_paused = True
                self._transport.pause_reading()
            self._wake()

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
            return
        self._complete = True
        self._wake()
