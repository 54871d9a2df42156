"""SPDY/3.1, as far as Kubernetes' clients speak it: many streams of bytes over one connection, opened with headers.

The server's half, and like `websocket` without sockets: bytes in, frames out. No flow control by windows: the clients
that are left have none either.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

DATA, OPENED, REPLY, RESET, SETTINGS, PING, GOING, HEADERS, WINDOW = 0, 1, 2, 3, 4, 6, 7, 8, 9
MAX_FRAME_BYTES = 1024 * 1024
MAX_HEADER_BYTES = 64 * 1024
_VERSION = 3
_LAST = 0x01
"""The flag of the last frame on its side of a stream."""
_NAMES = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_VALUES = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug "
    "Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
    "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,"
    "sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _counted(text: bytes) -> bytes:
    return struct.pack("!I", len(text)) + text


DICTIONARY = b"".join(_counted(name.replace("_", " ").encode()) for name in _NAMES.split(" ")) + _VALUES.encode()
"""What the protocol has headers compressed with."""


class Violation(Exception):
    """The other side does not keep to the protocol."""


class Frame(NamedTuple):
    """One frame: of `stream`, unless it is about the connection. `payload` is data, or a ping's number as it came."""

    kind: int
    stream: int
    is_last: bool
    payload: bytes
    headers: dict[str, str]


class Reader:
    """Turns bytes into frames. Headers are one compressed text over the life of the connection."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> Iterator[Frame]:
        self._buffer += data
        while len(self._buffer) >= 8:
            first, second = struct.unpack_from("!II", self._buffer)
            flags, size = second >> 24, second & 0xFFFFFF
            if size > MAX_FRAME_BYTES:
                raise Violation(f"a frame is larger than {MAX_FRAME_BYTES} bytes")
            if len(self._buffer) < 8 + size:
                return
            payload = bytes(self._buffer[8 : 8 + size])
            del self._buffer[: 8 + size]
            yield self._frame(first, payload, is_last=bool(flags & _LAST))

    def _frame(self, first: int, payload: bytes, *, is_last: bool) -> Frame:
        if not first & 0x80000000:
            return Frame(DATA, first, is_last, payload, {})
        if first >> 16 & 0x7FFF != _VERSION:
            raise Violation(f"version {first >> 16 & 0x7FFF} of SPDY is not {_VERSION}")
        kind, stream = first & 0xFFFF, int.from_bytes(payload[:4], "big") & 0x7FFFFFFF
        if kind not in (OPENED, HEADERS):
            return Frame(kind, stream, is_last, payload, {})
        return Frame(kind, stream, is_last, b"", self._headers(payload[10 if kind == OPENED else 4 :]))

    def _headers(self, packed: bytes) -> dict[str, str]:
        try:
            text = self._inflate.decompress(packed, MAX_HEADER_BYTES)
        except zlib.error as error:
            raise Violation(f"headers cannot be read: {error}") from error
        if self._inflate.unconsumed_tail:
            raise Violation(f"headers are larger than {MAX_HEADER_BYTES} bytes")
        parts, at = [], 4
        while at + 4 <= len(text):
            end = at + 4 + int.from_bytes(text[at : at + 4], "big")
            parts.append(text[at + 4 : end].decode("latin-1"))
            at = end
        if at != len(text) or len(parts) != 2 * int.from_bytes(text[:4], "big"):
            raise Violation("headers are cut short")
        return dict(zip(parts[::2], parts[1::2], strict=True))


class Writer:
    """Makes frames."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def reply(self, stream: int) -> bytes:
        """The stream is taken, with no headers in return."""
        packed = self._deflate.compress(bytes(4)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return _control(REPLY, struct.pack("!I", stream) + packed)

    def data(self, stream: int, content: bytes, *, is_last: bool = False) -> bytes:
        """At most 16 MB."""
        return struct.pack("!II", stream, (_LAST if is_last else 0) << 24 | len(content)) + content

    def reset(self, stream: int, status: int) -> bytes:
        """End the stream without its last frame; `status` 1 is a fault of the other side, 5 a change of mind."""
        return _control(RESET, struct.pack("!II", stream, status))

    def ping(self, payload: bytes) -> bytes:
        return _control(PING, payload)


def _control(kind: int, payload: bytes) -> bytes:
    return struct.pack("!HHI", 0x8000 | _VERSION, kind, len(payload)) + payload
