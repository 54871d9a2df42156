"""How requests reach an API server: over HTTP, or as a function call inside the process.

`client.Client` speaks Kubernetes on top of either; `config.ClusterConfig` says where the server is.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from volcano.http.endpoint import Endpoint
from volcano.http.errors import ConnectFailed
from volcano.http.message import Handler, Peer, Request, Response, format_target
from volcano.http.proxy import is_loopback, proxy_from
from volcano.kube.config import ClusterConfig, ConfigError, TokenSource
from volcano.kube.credentials import FileToken, StaticToken
from volcano.kube.renewal import Renewal

if TYPE_CHECKING:
    from volcano.http.blocking import BlockingClient
    from volcano.http.client import HttpClient

UNIX = "unix://"
ADMIN = Peer(common_name="volcano", organizations=("system:masters",), unix=True)


class Stream(Protocol):
    """An answer that arrives over time."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> dict[str, str]: ...
    def __aiter__(self) -> AsyncIterator[bytes]: ...
    async def read(self) -> bytes:
        """The rest of the body, whole."""


class Transport(Protocol):
    """One API server, however it is reached."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> Response:
        """Send a request and read the whole answer."""

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> AbstractAsyncContextManager[Stream]:
        """Send a request and read the answer's body as it arrives."""

    async def close(self) -> None:
        """Release the connections."""


class Watched:
    """Another transport, each of whose requests is looked at before it is sent and once it is answered."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def before(self, method: str, path: str) -> None:
        """A request is to be sent: what this raises is raised instead."""

    def after(self, method: str, path: str, response: Response) -> None:
        """A request was answered."""

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
        self.before(method, path)
        response = await self._transport.request(method, path, query=query, headers=headers, body=body, timeout=timeout)
        self.after(method, path, response)
        return response

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(method, path, query=query, headers=headers)

    async def close(self) -> None:
        await self._transport.close()


class HttpTransport:
    """The API server of a `ClusterConfig`, over pooled connections; or where `blocking`, over one and without a loop.

    Whoever has no loop asks `needs_loop` before.
    """

    def __init__(self, config: ClusterConfig, *, blocking: bool = False) -> None:
        self._renewal = Renewal(config)
        self._token: str | None = None
        self._blocking = blocking
        self._use(config)

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
        target = self._prefix + format_target(path, query)
        if self._compress and method == "GET":
            headers = {**(headers or {}), "accept-encoding": "gzip"}
        await self._prepare()
        try:
            response = await self._http.request(method, target, headers=headers, body=body, timeout=timeout)
            if response.status == 401:
                if await self._has_others():
                    response = await self._http.request(method, target, headers=headers, body=body, timeout=timeout)
                if response.status == 401:
                    response = _explained(response, self.config, self._token)
        except ConnectFailed as error:
            raise self._explain(error) from error
        return response

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Stream]:
        target = self._prefix + format_target(path, query)
        await self._prepare()
        async with AsyncExitStack() as stack:
            exchange: AbstractAsyncContextManager[Stream] = self._http.stream(method, target, headers=headers)
            try:
                response = await stack.enter_async_context(exchange)
            except ConnectFailed as error:
                raise self._explain(error) from error
            if response.status != 401:
                yield response
                return
            refusal = Response(401, response.headers, await response.read())
            token = self._token
            await self._has_others()
            yield InProcessStream(_explained(refusal, self.config, token))

    async def close(self) -> None:
        await self._http.close()

    async def _prepare(self) -> None:
        """Have the settings and the token of now."""
        fresh = self._renewal.fresh()
        if fresh is not None:
            self._http.retire()
            self._use(fresh)
        if self.config.token is not None:
            await self._authenticate(self.config.token)

    def _use(self, config: ClusterConfig) -> None:
        self.config = config
        self._prefix, endpoint = endpoint_of(config)
        self._http = _client(endpoint, config.headers, blocking=self._blocking)
        self._compress = config.compression and endpoint.unix_path is None and not is_loopback(endpoint.host)
        self._token = None

    async def _has_others(self) -> bool:
        """After a refusal: whether there are credentials that the server has not seen yet."""
        before, source = self.config, self.config.token
        rejected = source is not None and source.reject()
        self._renewal.hurry()
        await self._prepare()
        if rejected:
            self._http.drop_idle()  # a plugin may have another certificate, too
        return rejected or self.config is not before

    async def _authenticate(self, source: TokenSource) -> None:
        """Put the current token into the headers of every request."""
        token = await source.current()
        if token != self._token:
            self._token = token
            extra = [("authorization", f"Bearer {token}")] if token else []
            self._http.set_headers([*self.config.headers, *extra])

    def _explain(self, error: ConnectFailed) -> ConnectFailed:
        """Add where the address comes from, and what usually is the matter."""
        self._renewal.hurry()
        from volcano.kube.refusals import advice

        return ConnectFailed(f"{error} ({self.config.source or 'given address'}): {advice(error.__cause__)}")


def _client(endpoint: Endpoint, headers: Sequence[tuple[str, str]], *, blocking: bool) -> HttpClient | BlockingClient:
    """Either kind is loaded by those who use it."""
    if blocking:
        from volcano.http.blocking import BlockingClient

        return BlockingClient(endpoint, headers=headers)
    from volcano.http.client import HttpClient

    return HttpClient(endpoint, headers=headers)


def _explained(answer: Response, config: ClusterConfig, token: str | None) -> Response:
    from volcano.kube.refusals import explained

    return explained(answer, config, token)


def needs_loop(config: ClusterConfig) -> bool:
    """Whether this cluster can only be asked on an event loop: through a proxy, or as a command says who we are."""
    known = config.token is None or isinstance(config.token, StaticToken | FileToken)
    return not known or endpoint_of(config)[1].proxy_url is not None


class InProcessTransport:
    """An API server in this process: its handler is called directly, as the given peer."""

    def __init__(self, handler: Handler, peer: Peer = ADMIN) -> None:
        self._handler = handler
        self._peer = peer

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - no network, nothing to time out
    ) -> Response:
        response = await self._handler(self._request(method, path, query, headers, body))
        if not isinstance(response.body, bytes):
            response.body = b"".join([chunk async for chunk in response.body])
        return response

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Stream]:
        response = await self._handler(self._request(method, path, query, headers, None))
        stream = InProcessStream(response)
        try:
            yield stream
        finally:
            await stream.close()

    async def close(self) -> None:
        """Nothing to release."""

    def _request(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str] | None,
        body: bytes | None,
    ) -> Request:
        return Request(method, path, list(query), dict(headers or {}), body or b"", self._peer)


class InProcessStream:
    """The body of a handler's answer, read chunk by chunk."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers = response.headers
        self._chunks = once(response.body) if isinstance(response.body, bytes) else response.body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self._chunks])

    async def close(self) -> None:
        close: Callable[[], object] | None = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()  # type: ignore[misc]


async def once(body: bytes) -> AsyncIterator[bytes]:
    if body:
        yield body


def endpoint_of(config: ClusterConfig) -> tuple[str, Endpoint]:
    """The path prefix and the endpoint of a server URL."""
    if config.server.startswith(UNIX):
        return "", Endpoint(unix_path=config.server.removeprefix(UNIX))
    wrong = f"{config.source or 'server'}: {config.server!r} is not an http, https or unix URL"
    try:
        url = urlsplit(config.server)
        port = url.port
    except ValueError as error:
        raise ConfigError(wrong) from error
    secure = url.scheme == "https"
    if not url.hostname or url.scheme not in ("http", "https"):
        raise ConfigError(wrong)
    endpoint = Endpoint(
        url.hostname,
        port or (443 if secure else 80),
        config.ssl if secure else None,
        config.server_name,
        proxy_url=(config.proxy_url or proxy_from(os.environ, url.hostname)) if secure else None,
    )
    return url.path.rstrip("/"), endpoint
