"""From bytes to requests: the server's half of HTTP/1.1 parsing, with its limits.

Driven by `connection`, which answers what comes out. httptools does the parsing proper.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import httptools

from volcano.http.message import Peer, Request, Response, parse_target


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client may cost. Sizes refuse with 431 or 413; times close the connection, too many the idlest."""

    head_bytes: int = 64 * 1024
    body_bytes: int = 3 * 1024 * 1024
    head_seconds: float = 15.0
    body_seconds: float = 60.0
    idle_seconds: float = 180.0
    write_seconds: float = 30.0
    pipelined_requests: int = 32
    connections: int = 4096
    gzip_bytes: int = 128 * 1024


_HOST = re.compile(r"[\w.:\[\]%!$&'()*+,;=~-]*", re.ASCII)
_WHOLE_URL = re.compile(r"https?://([^/?#]*)([/?].*)?", re.IGNORECASE)
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


class Refused(Exception):
    """A message that is answered with an error before it reaches the handler; the connection closes after it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def plain(refused: Refused) -> Response:
    """The usual answer to a refused message."""
    return Response(refused.status, {"content-type": "text/plain; charset=utf-8"}, refused.message.encode() + b"\n")


@dataclass(slots=True)
class Exchange:
    """A complete request waiting for its turn, or the refusal that ends the connection."""

    request: Request
    keep_alive: bool
    chunked: bool = True
    upgrade: bool = False
    refused: Refused | None = None


class RequestReader:
    """Parses what a connection receives and delivers `Exchange`s in order. After a refusal it ignores the rest."""

    __slots__ = (
        "_body",
        "_body_bytes",
        "_clock",
        "_deliver",
        "_head_bytes",
        "_headers",
        "_limits",
        "_parser",
        "_peer",
        "_receiving",
        "_url",
        "expects_continue",
        "finished",
        "in_head",
        "rest",
        "since",
    )

    def __init__(
        self, limits: Limits, peer: Peer, deliver: Callable[[Exchange], None], clock: Callable[[], float]
    ) -> None:
        self._limits = limits
        self._peer = peer
        self._deliver = deliver
        self._clock = clock
        self._parser = httptools.HttpRequestParser(self)
        self.finished = False
        self.rest = b""
        self.in_head = False  # clients open connections in reserve, as Go's do, and post on them later
        self.expects_continue = False
        self.since = clock()
        self._receiving = False
        self._start()

    def _start(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._body: list[bytes] = []
        self._body_bytes = 0

    def feed(self, data: bytes) -> None:
        """Parse received bytes. Once `finished`, nothing more is expected from this connection."""
        if self.finished:
            return
        started_in_head = self.in_head
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.finished = True
            self.rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            cause = error.__context__
            self._refuse(cause if isinstance(cause, Refused) else _malformed(error))
        else:
            if started_in_head and self.in_head:
                self._head_bytes += len(data)
                if self._head_bytes > self._limits.head_bytes:
                    self._refuse(self._head_too_large())

    def allowed_seconds(self) -> float:
        """How long the connection may stay in its present state, counted from `since`."""
        if self.in_head:
            return self._limits.head_seconds
        return self._limits.body_seconds if self._receiving else self._limits.idle_seconds

    # httptools callbacks

    def on_message_begin(self) -> None:
        self.in_head = True
        self.since = self._clock()
        self._start()

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(len(name) + len(value))
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        headers = self._headers
        if key == "transfer-encoding" and (key in headers or text.lower() != "chunked"):
            raise Refused(501, "unsupported transfer encoding: bodies come whole or chunked")
        if key == "host" and not _HOST.fullmatch(text):
            raise Refused(400, "malformed Host header")
        if key in headers:
            if key == "host":
                raise Refused(400, "more than one Host header")
            text = headers[key] + ("; " if key == "cookie" else ", ") + text
        headers[key] = text

    def on_headers_complete(self) -> None:
        self.in_head = False
        self._receiving = True
        headers = self._headers
        if "host" not in headers and self._parser.get_http_version() == "1.1":
            raise Refused(400, "the Host header is missing")
        length = headers.get("content-length")
        if length is not None and int(length) > self._limits.body_bytes:
            raise self._body_too_large()
        if "expect" in headers:
            if headers["expect"].lower() != "100-continue":
                raise Refused(417, f"unsupported expectation {headers['expect']!r}")
            self.expects_continue = True

    def on_body(self, body: bytes) -> None:
        self.since = self._clock()
        self._body_bytes += len(body)
        if self._body_bytes > self._limits.body_bytes:
            raise self._body_too_large()
        self._body.append(body)

    def on_message_complete(self) -> None:
        self.expects_continue = False
        self._receiving = False
        self.since = self._clock()
        parser = self._parser
        path, query = parse_target(self._target())
        body = self._body
        request = Request(
            parser.get_method().decode(),
            path,
            query,
            self._headers,
            body[0] if len(body) == 1 else b"".join(body),
            self._peer,
        )
        keep_alive = parser.should_keep_alive()
        chunked = keep_alive or parser.get_http_version() == "1.1"
        self._deliver(Exchange(request, keep_alive, chunked, parser.should_upgrade()))

    def _target(self) -> str:
        """Path and query; of a whole URL, as proxies send it, the host goes where hosts are looked for."""
        try:
            target = self._url.decode("ascii")
        except UnicodeDecodeError:
            raise Refused(400, "the request target has bytes outside ASCII: percent-encode them") from None
        if whole := _WHOLE_URL.fullmatch(target):
            self._headers["host"], target = whole[1], whole[2] or "/"
        if _BAD_ESCAPE.search(target.partition("?")[0]):
            raise Refused(400, "malformed request target: % is not followed by two hexadecimal digits")
        return target

    # Limits

    def _refuse(self, refused: Refused) -> None:
        self.finished = True
        self._deliver(Exchange(Request("", ""), keep_alive=False, refused=refused))

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self._limits.head_bytes:
            raise self._head_too_large()

    def _head_too_large(self) -> Refused:
        return Refused(431, f"the request head is larger than {self._limits.head_bytes} bytes")

    def _body_too_large(self) -> Refused:
        return Refused(413, f"the request body is larger than {self._limits.body_bytes} bytes")


def _malformed(error: httptools.HttpParserError) -> Refused:
    status = 505 if "HTTP version" in str(error) else 400
    return Refused(status, f"malformed HTTP request: {error}")
