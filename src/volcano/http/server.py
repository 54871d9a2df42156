"""The HTTP/1.1 server: one asyncio protocol on httptools, driving a plain `Handler`.

`serve` opens the sockets; `connection` holds one connection's life. Messages are in `message`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from ssl import SSLContext

from volcano.http.connection import Connection
from volcano.http.message import Handler, Response
from volcano.http.reading import Limits, Refused, plain
from volcano.http.unix import short_path

__all__ = ["Limits", "ListenError", "Server", "serve"]

HANDSHAKE_SECONDS = 15.0


class ListenError(OSError):
    """The address cannot be listened on; the message says why and what to do."""

    def __str__(self) -> str:
        return self.strerror or super().__str__()


class Server:
    """A listening server. `port` is the real port, `close` drains: idle connections go at once, streams are ended."""

    def __init__(
        self, handler: Handler, limits: Limits, unix_path: str | None, answer_to: Callable[[Refused], Response]
    ) -> None:
        self.handler = handler
        self.answer_to = answer_to
        self.limits = limits
        self.connections: set[Connection] = set()
        self.draining = False
        self.date = formatdate(usegmt=True).encode()
        self.unix_path = unix_path
        self.port = 0
        self._listener: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._empty: asyncio.Event | None = None

    def start(self, listener: asyncio.Server) -> None:
        self._listener = listener
        if self.unix_path is None:
            self.port = listener.sockets[0].getsockname()[1]
        self._sweeper = asyncio.create_task(self._sweep())

    def connection(self) -> Connection:
        """A protocol for a connection just accepted."""
        return Connection(self)

    def admit(self, connection: Connection) -> None:
        """Take in a new connection. Where there are too many, the one that has been idle longest makes room."""
        if len(self.connections) >= self.limits.connections:
            idle = (known for known in self.connections if known.idle)
            min(idle, key=lambda known: known.since, default=connection).abort()
        self.connections.add(connection)

    def forget(self, connection: Connection) -> None:
        """A connection has ended."""
        self.connections.discard(connection)
        if self._empty is not None and not self.connections:
            self._empty.set()

    def retire(self) -> None:
        """Go on, but let each answer be the last on its connection: `close` is near, and others are to be asked."""
        self.draining = True

    async def close(self, grace_seconds: float = 5.0) -> None:
        """Stop accepting, let requests in flight finish for up to `grace_seconds`, then cut what is left."""
        self.draining = True
        if self._listener is not None:
            self._listener.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        for connection in list(self.connections):
            connection.drain()
        if self.connections:
            self._empty = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_seconds):
                    await self._empty.wait()
        for connection in list(self.connections):
            connection.abort()
        if self.unix_path is not None:
            Path(self.unix_path).unlink(missing_ok=True)  # noqa: ASYNC240 - one unlink at shutdown

    async def __aenter__(self) -> Server:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _sweep(self) -> None:
        """Once a second: refresh the Date header and close connections that idle or dawdle beyond the limits."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(1.0)
            self.date = formatdate(usegmt=True).encode()
            now = loop.time()
            for connection in list(self.connections):
                connection.sweep(now)


async def serve(
    handler: Handler,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    ssl: SSLContext | None = None,
    unix_path: str | None = None,
    limits: Limits | None = None,
    answer_to: Callable[[Refused], Response] = plain,
) -> Server:
    """Listen on `host:port` (port 0: any free one) or on a Unix socket of mode 0600, and answer with `handler`.

    `answer_to` words the answers to messages that are refused before the handler sees them.
    """
    loop = asyncio.get_running_loop()
    server = Server(handler, limits or Limits(), unix_path, answer_to)
    timeout = HANDSHAKE_SECONDS if ssl is not None else None
    try:
        if unix_path is None:
            listener = await loop.create_server(
                server.connection, host, port, ssl=ssl, backlog=1024, ssl_handshake_timeout=timeout
            )
        else:
            path = Path(unix_path)
            with contextlib.suppress(FileNotFoundError):
                path.unlink()  # noqa: ASYNC240 - before serving starts
            with short_path(unix_path) as address:
                listener = await loop.create_unix_server(
                    server.connection, address, ssl=ssl, backlog=1024, ssl_handshake_timeout=timeout
                )
            path.chmod(0o600)  # noqa: ASYNC240
    except OSError as error:
        raise listen_error(error, unix_path or f"{host}:{port}") from error
    server.start(listener)
    return server


def listen_error(error: OSError, address: str) -> ListenError:
    advice = {
        errno.EADDRINUSE: ": another process uses it: stop that one or choose another port (0: any free one)",
        errno.EACCES: ": ports below 1024 need privileges: choose a higher one",
        errno.EADDRNOTAVAIL: ": this machine has no such address",
    }.get(error.errno or 0, f": {error.strerror or error}")
    return ListenError(error.errno, f"cannot listen on {address}{advice}")
