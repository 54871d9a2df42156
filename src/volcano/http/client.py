"""A pooled keep-alive HTTP/1.1 client for one server, on asyncio and httptools.

`exchange` holds one connection; TLS settings come from `tls`. Retrying and credentials are the caller's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from volcano.http.endpoint import Endpoint
from volcano.http.errors import ConnectFailed, ConnectionClosed, HttpError, ProtocolError, RequestTimeout
from volcano.http.exchange import ClientConnection, StreamingResponse
from volcano.http.message import Response
from volcano.http.sending import CONNECT_SECONDS, REPLAYABLE, TIMEOUT_SECONDS, fixed_head, request_bytes, unpacked
from volcano.http.tunnel import open_tunnel
from volcano.http.unix import short_path

__all__ = [
    "ConnectFailed",
    "ConnectionClosed",
    "Endpoint",
    "HttpClient",
    "HttpError",
    "ProtocolError",
    "RequestTimeout",
    "StreamingResponse",
]

IDLE_SECONDS = 90.0


class HttpClient:
    """Requests to one endpoint over a pool of connections.

    A request that meets a kept-alive connection the server has just closed is sent again on a new one when its method
    may be repeated. Timeouts cover the whole exchange of `request`, and the response head of `stream`.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        headers: Sequence[tuple[str, str]] = (),
        max_connections: int = 256,
        connect_seconds: float = CONNECT_SECONDS,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self.endpoint = endpoint
        self._connect_seconds = connect_seconds
        self._timeout_seconds = timeout_seconds
        self._idle: list[ClientConnection] = []
        self._busy: set[ClientConnection] = set()
        self._slots = asyncio.Semaphore(max_connections)
        self._closed = False
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
        timeout: float | None = None,  # noqa: ASYNC109 - one timer per connection, not one per call
    ) -> Response:
        """Send a request and read the whole answer."""
        seconds = self._timeout_seconds if timeout is None else timeout
        payload = request_bytes(method, target, self._fixed, headers, body)
        await self._slots.acquire()
        try:
            while True:
                connection, reused = await self._connection(seconds)
                try:
                    response = await connection.exchange(payload, seconds, head_only=method == "HEAD")
                except ConnectionClosed as error:
                    if not reused or error.answered or method not in REPLAYABLE:
                        raise
                else:
                    return unpacked(response)
                finally:
                    self._release(connection)
        finally:
            self._slots.release()

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> AsyncIterator[StreamingResponse]:
        """Send a request and iterate over the answer's body as it arrives. Streams do not count against the pool."""
        seconds = self._timeout_seconds if timeout is None else timeout
        payload = request_bytes(method, target, self._fixed, headers, body)
        while True:
            connection, reused = await self._connection(seconds)
            try:
                try:
                    response = await connection.open(payload, seconds, head_only=method == "HEAD")
                except ConnectionClosed as error:
                    if not reused or error.answered or method not in REPLAYABLE:
                        raise
                    continue
                yield response
                return
            finally:
                self._release(connection)

    def retire(self) -> None:
        """Keep no connection beyond the exchange it is in: there is another client of this server now."""
        self._retired = True
        self.drop_idle()

    def drop_idle(self) -> None:
        """Close the connections that wait for their next request, as when TLS has something else to show."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def close(self) -> None:
        """Close every connection; requests in flight fail."""
        self._closed = True
        for connection in [*self._idle, *self._busy]:
            connection.close()
        self._idle.clear()

    async def _connection(self, seconds: float) -> tuple[ClientConnection, bool]:
        idle = self._idle
        oldest = asyncio.get_running_loop().time() - IDLE_SECONDS if idle else 0.0
        while idle:
            connection = idle.pop()
            if connection.usable and connection.idle_since > oldest:
                self._busy.add(connection)
                return connection, True
            connection.close()
        connection = await self._connect(min(seconds, self._connect_seconds))
        self._busy.add(connection)
        return connection, False

    async def _connect(self, seconds: float) -> ClientConnection:
        if self._closed:
            raise ConnectFailed(f"the client of {self.endpoint} is closed")
        endpoint = self.endpoint
        try:
            async with asyncio.timeout(seconds):
                return await connect(endpoint)
        except TimeoutError:
            raise ConnectFailed(f"no connection to {endpoint} within {seconds:g} s") from None
        except OSError as error:
            raise ConnectFailed(f"cannot connect to {endpoint}: {error}") from error

    def _release(self, connection: ClientConnection) -> None:
        self._busy.discard(connection)
        if connection.usable and not self._closed and not self._retired:
            self._idle.append(connection)
        else:
            connection.close()


async def connect(endpoint: Endpoint) -> ClientConnection:
    """A new connection, with TLS established."""
    loop = asyncio.get_running_loop()
    name = (endpoint.server_name or endpoint.host) if endpoint.ssl else None
    if endpoint.unix_path is not None:
        with short_path(endpoint.unix_path) as path:
            _, connection = await loop.create_unix_connection(
                ClientConnection, path, ssl=endpoint.ssl, server_hostname=name
            )
    elif endpoint.proxy_url is not None and endpoint.ssl is not None:
        tunnel = await open_tunnel(endpoint.proxy_url, endpoint.host, endpoint.port)
        connection = ClientConnection()
        transport = await loop.start_tls(tunnel, connection, endpoint.ssl, server_hostname=name)
        assert transport is not None
        connection.connection_made(transport)
    else:
        _, connection = await loop.create_connection(
            ClientConnection, endpoint.host, endpoint.port, ssl=endpoint.ssl, server_hostname=name
        )
    return connection
