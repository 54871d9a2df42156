"""The client of `client` for programs that ask a few questions and end: an event loop costs more than their work.

Its coroutines never suspend, so that `volcano.cli.connection` can run them by hand. It knows no proxies.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import httptools

from volcano.http.endpoint import Endpoint
from volcano.http.errors import ConnectFailed, ConnectionClosed, ProtocolError, RequestTimeout
from volcano.http.heads import AnswerHead
from volcano.http.message import Response
from volcano.http.sending import CONNECT_SECONDS, REPLAYABLE, TIMEOUT_SECONDS, fixed_head, request_bytes, unpacked
from volcano.http.unix import short_path

CHUNK_BYTES = 256 * 1024


class BlockingClient:
    """Requests to one endpoint, on one connection that is kept; streams have connections of their own."""

    def __init__(self, endpoint: Endpoint, *, headers: Sequence[tuple[str, str]] = ()) -> None:
        self.endpoint = endpoint
        self._kept: Connection | None = None
        self._retired = False
        self.set_headers(headers)

    def set_headers(self, headers: Sequence[tuple[str, str]]) -> None:
        """Headers sent with every request from now on (credentials, user agent)."""
        self._fixed = fixed_head(self.endpoint, headers)

    async def request(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - a socket's, not a task's
    ) -> Response:
        """Send a request and read the whole answer."""
        deadline = time.monotonic() + (TIMEOUT_SECONDS if timeout is None else timeout)
        connection = self._ask(method, request_bytes(method, target, self._fixed, headers, body), deadline)
        try:
            response = Response(connection.status, connection.headers, connection.rest(deadline))
        except BaseException:
            connection.close()
            raise
        self._keep(connection)
        return unpacked(response)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - as above
    ) -> AsyncIterator[BlockingStream]:
        """Send a request and iterate over the answer's body as it arrives; the time is for the answer's head."""
        deadline = time.monotonic() + (TIMEOUT_SECONDS if timeout is None else timeout)
        connection = self._ask(method, request_bytes(method, target, self._fixed, headers, body), deadline)
        try:
            yield BlockingStream(connection)
        finally:
            self._keep(connection)

    def retire(self) -> None:
        """Keep no connection from now on: there is another client of this server."""
        self._retired = True
        self.drop_idle()

    def drop_idle(self) -> None:
        """Close the connection that waits for its next request."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    async def close(self) -> None:
        self.drop_idle()

    def _ask(self, method: str, payload: bytes, deadline: float) -> Connection:
        """A connection on which the head of the answer has arrived."""
        while True:
            kept, self._kept = self._kept, None
            if kept is not None and method not in REPLAYABLE and kept.was_closed:
                kept.close()
                kept = None
            connection = kept or self._connect(min(deadline, time.monotonic() + CONNECT_SECONDS))
            try:
                connection.ask(payload, deadline, head_only=method == "HEAD")
            except ConnectionClosed as error:
                connection.close()
                if kept is None or error.answered or method not in REPLAYABLE:
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                return connection

    def _keep(self, connection: Connection) -> None:
        if connection.reusable and not self._retired and self._kept is None:
            self._kept = connection
        else:
            connection.close()

    def _connect(self, deadline: float) -> Connection:
        endpoint = self.endpoint
        seconds = deadline - time.monotonic()
        try:
            return Connection(connected(endpoint, seconds))
        except TimeoutError:
            raise ConnectFailed(f"no connection to {endpoint} within {seconds:.0f} s") from None
        except OSError as error:
            raise ConnectFailed(f"cannot connect to {endpoint}: {error}") from error


def connected(endpoint: Endpoint, seconds: float) -> socket.socket:
    """A socket that is connected to the endpoint, with TLS established."""
    if endpoint.unix_path is not None:
        plain = socket.socket(socket.AF_UNIX)
        try:
            plain.settimeout(seconds)
            with short_path(endpoint.unix_path) as path:
                plain.connect(path)
        except BaseException:
            plain.close()
            raise
    else:
        address = plainly(endpoint.host), endpoint.port
        plain = socket.create_connection(address, seconds)  # type: ignore[arg-type]  # bytes will do
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if endpoint.ssl is None:
        return plain
    try:
        return endpoint.ssl.wrap_socket(plain, server_hostname=plainly(endpoint.server_name or endpoint.host))
    except BaseException:
        plain.close()
        raise


def plainly(host: str) -> str | bytes:
    """A host without foreign letters as bytes: of a text, Python loads the tables of all letters to encode it."""
    return host.encode("ascii") if host.isascii() else host


class Connection(AnswerHead):
    """A socket on which one exchange after the other takes place, and what has arrived of the answer."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._parser = httptools.HttpResponseParser(self)
        self._lasting = True
        self._begin(head_only=False)

    def _begin(self, *, head_only: bool) -> None:
        self._expect_head()
        self._head_only = head_only
        self._complete = False
        self._body: list[bytes] = []

    @property
    def reusable(self) -> bool:
        """Another request may be sent."""
        return self._complete and self._lasting

    @property
    def was_closed(self) -> bool:
        """Between two exchanges: whether the server has ended the connection. It has nothing else to say then."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def ask(self, payload: bytes, deadline: float, *, head_only: bool) -> None:
        """Send a request and wait for the head of the answer."""
        self._begin(head_only=head_only)
        try:
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            self._socket.sendall(payload)
        except TimeoutError:
            raise RequestTimeout("the server did not take the request in time") from None
        except OSError as error:
            raise ConnectionClosed(f"the connection broke: {error}", answered=False) from error
        while not self._head_done:
            self._receive(deadline)

    def chunk(self, deadline: float | None) -> bytes | None:
        """What has arrived of the body since the last call, None at its end. Without a deadline it waits for ever."""
        while not self._body and not self._complete:
            self._receive(deadline)
        if not self._body:
            return None
        body, self._body = self._body, []
        return body[0] if len(body) == 1 else b"".join(body)

    def rest(self, deadline: float | None) -> bytes:
        """The body until its end."""
        while not self._complete:
            self._receive(deadline)
        return self.chunk(deadline) or b""

    def close(self) -> None:
        self._socket.close()

    def _receive(self, deadline: float | None) -> None:
        try:
            self._socket.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))
            data = self._socket.recv(CHUNK_BYTES)
        except TimeoutError:
            raise RequestTimeout("the server did not answer in time") from None
        except OSError as error:
            raise ConnectionClosed(f"the connection broke: {error}", answered=self._answered) from error
        if data:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserError as error:
                raise ProtocolError(f"the server's answer is not valid HTTP: {error}") from error
            return
        self._lasting = False
        if not (self._head_done and self._until_close):
            raise ConnectionClosed("the server closed the connection", answered=self._answered)
        self._complete = True

    # httptools callbacks

    def _head_arrived(self) -> None:
        self._lasting = self._parser.should_keep_alive() and not self._head_only
        self._complete = self._head_only

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if not self._interim:
            self._complete = True
        self._interim = False


class BlockingStream:
    """An answer whose body arrives over time."""

    def __init__(self, connection: Connection) -> None:
        self.status = connection.status
        self.headers = connection.headers
        self._connection = connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = self._connection.chunk(None)
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    async def read(self) -> bytes:
        """The rest of the body, whole."""
        return self._connection.rest(None)
