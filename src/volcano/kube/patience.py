"""A transport that outwaits a short absence of its server, such as a restart. For people at a terminal and the SDK.

Daemons have their own loops for this: informers and work queues.
"""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from volcano.http.errors import ConnectFailed, ConnectionClosed
from volcano.kube.pause import pause

if TYPE_CHECKING:
    from volcano.http.message import Response
    from volcano.kube.transport import Stream, Transport

T = TypeVar("T")

PAUSE_SECONDS = 0.25


class PatientTransport:
    """Repeats what got no connection, for `seconds` at most. Nothing was sent then, so any request may be repeated.

    A request whose connection broke off may have been performed: only reads are repeated then. `on_wait` is told the
    error once, before the first pause.
    """

    def __init__(
        self, transport: Transport, *, seconds: float, on_wait: Callable[[ConnectionError], None] | None = None
    ) -> None:
        self._transport = transport
        self._seconds = seconds
        self._on_wait = on_wait

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - passed on
    ) -> Response:
        async def send() -> Response:
            return await self._transport.request(method, path, query=query, headers=headers, body=body, timeout=timeout)

        return await self._patiently(send, repeatable=method == "GET")

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Stream]:
        async with AsyncExitStack() as stack:

            async def begin() -> Stream:
                return await stack.enter_async_context(
                    self._transport.stream(method, path, query=query, headers=headers)
                )

            yield await self._patiently(begin, repeatable=True)

    async def close(self) -> None:
        await self._transport.close()

    async def _patiently(self, send: Callable[[], Awaitable[T]], *, repeatable: bool) -> T:
        deadline = time.monotonic() + self._seconds
        told = False
        while True:
            try:
                return await send()
            except (ConnectFailed, ConnectionClosed) as error:
                passing = isinstance(error, ConnectFailed) or repeatable
                if not passing or is_hopeless(error) or time.monotonic() + PAUSE_SECONDS > deadline:
                    raise
                if self._on_wait is not None and not told:
                    self._on_wait(error)
                told = True
            await pause(PAUSE_SECONDS)


def is_hopeless(error: BaseException) -> bool:
    """Whether waiting cures neither the error nor its cause: a certificate not trusted, a name that does not exist."""
    import ssl

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError | socket.gaierror):
            return True
        cause = cause.__cause__
    return False
