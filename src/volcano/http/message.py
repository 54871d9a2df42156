"""Requests and responses as plain values, shared by the server, the client and in-process transports.

Nothing here knows about sockets; `server` and `client` turn these into bytes and back.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, unquote_plus

if TYPE_CHECKING:
    import asyncio

Query = list[tuple[str, str]]

_PLAIN_PATH = re.compile("[A-Za-z0-9/.-]*")
"""Of these characters none is quoted."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is on the other end of a connection: the subject of its verified certificate, and its address."""

    common_name: str | None = None
    organizations: tuple[str, ...] = ()
    address: str = ""
    unix: bool = False


@dataclass(slots=True)
class Request:
    """One request with its whole body. `path` and `query` are percent-decoded; header names are lower case."""

    method: str
    path: str
    query: Query = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    peer: Peer = field(default_factory=Peer)

    def param(self, name: str, default: str | None = None) -> str | None:
        """The first query parameter called `name`."""
        for key, value in self.query:
            if key == name:
                return value
        return default

    def flag(self, name: str) -> bool:
        """Whether the query parameter `name` is there and is neither `false` nor `0`: as Kubernetes reads truth."""
        value = self.param(name)
        return value is not None and value.lower() not in ("false", "0")

    def params(self, name: str) -> list[str]:
        """All values of the query parameter `name`, in order."""
        return [value for key, value in self.query if key == name]


Upgrade = Callable[["asyncio.Transport", bytes], "asyncio.BaseProtocol"]
"""Takes over a connection after a 101 answer: receives the transport and the bytes already read beyond the request."""


@dataclass(slots=True)
class Response:
    """One answer. A `bytes` body is sent whole; an async iterator is streamed chunk by chunk as it produces them.

    The server adds the headers of transport (length, encoding, connection, date): handlers leave those out.
    """

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | AsyncIterator[bytes] = b""
    upgrade: Upgrade | None = None

    @property
    def content(self) -> bytes:
        """The body of an answer that was read whole."""
        if not isinstance(self.body, bytes):
            raise TypeError("the body of this response is a stream: iterate over it")
        return self.body


Handler = Callable[[Request], Awaitable[Response]]


def parse_target(target: str) -> tuple[str, Query]:
    """Split a request target into its decoded path and query pairs."""
    path, _, raw_query = target.partition("?")
    if "%" in path:
        path = unquote(path)
    return path, parse_query(raw_query) if raw_query else []


def parse_query(raw: str) -> Query:
    """Decode `a=1&b=2` into ordered pairs; a name without `=` has an empty value."""
    if "%" not in raw and "+" not in raw:
        decoded = (part.partition("=") for part in raw.split("&") if part)
        return [(name, value) for name, _, value in decoded]
    pairs = []
    for part in raw.split("&"):
        if part:
            name, _, value = part.partition("=")
            pairs.append((unquote_plus(name), unquote_plus(value)))
    return pairs


def format_target(path: str, query: Sequence[tuple[str, str]] = ()) -> str:
    """The request target for a decoded path and query pairs: the inverse of `parse_target`."""
    if not _PLAIN_PATH.fullmatch(path):
        path = quote(path, safe="/:-._~!$&'()*+,;=@")
    if not query:
        return path
    return f"{path}?{_format_query(tuple(query))}"


@lru_cache(maxsize=512)
def _format_query(query: tuple[tuple[str, str], ...]) -> str:
    """A client sends few different ones, thousands of times."""
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query)
