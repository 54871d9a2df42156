"""Reaching a TLS server through an HTTP proxy: a CONNECT tunnel, then TLS inside it.

Used by `client` when an endpoint names a proxy; `proxy` finds the name.
"""

from __future__ import annotations

import asyncio
import base64
from typing import cast
from urllib.parse import unquote, urlsplit

MAX_ANSWER_BYTES = 16 * 1024


class ProxyError(OSError):
    """The proxy did not open a tunnel."""


class Tunnel(asyncio.Protocol):
    """Asks a proxy for a tunnel and waits for its answer."""

    def __init__(self, target: str, credentials: str | None) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answer = b""
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if credentials:
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(credentials.encode()).decode()}")
        self._request = "\r\n".join([*lines, "", ""]).encode("ascii")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("the proxy closed the connection")

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if b"\r\n\r\n" in self._answer:
            status_line = self._answer.partition(b"\r\n")[0].decode("latin-1")
            if status_line.startswith("HTTP/1.") and status_line[9:10] == "2":
                if not self.opened.done():
                    self.opened.set_result(None)
            else:
                self._fail(f"the proxy answered {status_line!r}")
        elif len(self._answer) > MAX_ANSWER_BYTES:
            self._fail("the proxy's answer is not HTTP")

    def _fail(self, reason: str) -> None:
        if not self.opened.done():
            self.opened.set_exception(ProxyError(reason))


async def open_tunnel(proxy_url: str, host: str, port: int) -> asyncio.Transport:
    """A connection to `host:port` through the proxy, on which nothing has been sent yet."""
    proxy = urlsplit(proxy_url)
    if proxy.scheme != "http" or not proxy.hostname:
        shown = f"{proxy.scheme}://{proxy.netloc.rpartition('@')[2]}"
        raise ProxyError(f"the proxy {shown!r} is not an http:// URL: other kinds of proxies are not supported")
    credentials = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}" if proxy.username else None
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    loop = asyncio.get_running_loop()
    transport, tunnel = await loop.create_connection(
        lambda: Tunnel(target, credentials), proxy.hostname, proxy.port or 80
    )
    try:
        await tunnel.opened
    except BaseException:
        transport.close()
        raise
    return transport
