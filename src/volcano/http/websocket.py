"""WebSockets, the server's half: the answer to an upgrade, and frames in both directions (RFC 6455, no extensions).

Nothing here knows about sockets; whoever takes over an upgraded connection feeds bytes in and writes bytes out.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Iterator
from typing import NamedTuple

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
MAX_MESSAGE_BYTES = 1024 * 1024
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Violation(Exception):
    """The other side does not keep to the protocol; `code` is how to close."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Message(NamedTuple):
    kind: int
    payload: bytes


def accept(key: str) -> str:
    """The Sec-WebSocket-Accept that answers a client's Sec-WebSocket-Key."""
    return base64.b64encode(hashlib.sha1(key.encode() + _MAGIC, usedforsecurity=False).digest()).decode()


def frame(kind: int, payload: bytes) -> bytes:
    """One unmasked, final frame."""
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x80 | kind, size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x80 | kind, 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | kind, 127, size)
    return head + payload


def closing(code: int, reason: str = "") -> bytes:
    return frame(CLOSE, struct.pack("!H", code) + reason.encode()[:120])


class Reader:
    """Turns bytes into messages; fragments are put together, control frames come out at once."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._kind = 0
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[Message]:
        self._buffer += data
        while (found := self._take()) is not None:
            final, kind, payload = found
            if kind >= CLOSE:
                if not final or len(payload) > 125:
                    raise Violation(1002, "control frames are short and whole")
                yield Message(kind, payload)
                continue
            message = self._assembled(kind, payload, final=final)
            if message is not None:
                yield message

    def _assembled(self, kind: int, payload: bytes, *, final: bool) -> Message | None:
        if (kind == CONTINUATION) != bool(self._parts):
            raise Violation(1002, "a fragment without its beginning, or a beginning within a message")
        self._kind = kind or self._kind
        self._size += len(payload)
        if self._size > MAX_MESSAGE_BYTES:
            raise Violation(1009, f"a message is larger than {MAX_MESSAGE_BYTES} bytes")
        self._parts.append(payload)
        if not final:
            return None
        message = Message(self._kind, b"".join(self._parts))
        self._parts, self._size = [], 0
        return message

    def _take(self) -> tuple[bool, int, bytes] | None:
        """The next whole frame in the buffer."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        if first & 0x70 or (first & 0x0F) not in (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG):
            raise Violation(1002, "an unknown kind of frame")
        if not second & 0x80:
            raise Violation(1002, "clients mask their frames")
        size, at = second & 0x7F, 2
        if size == 126:
            size, at = int.from_bytes(buffer[2:4], "big"), 4
        elif size == 127:
            size, at = int.from_bytes(buffer[2:10], "big"), 10
        if size > MAX_MESSAGE_BYTES:
            raise Violation(1009, f"a frame is larger than {MAX_MESSAGE_BYTES} bytes")
        if len(buffer) < at + 4 + size:
            return None
        mask, body = bytes(buffer[at : at + 4]), bytes(buffer[at + 4 : at + 4 + size])
        del buffer[: at + 4 + size]
        return bool(first & 0x80), first & 0x0F, _unmasked(body, mask)


def _unmasked(body: bytes, mask: bytes) -> bytes:
    if not body:
        return b""
    repeated = (mask * (len(body) // 4 + 1))[: len(body)]
    return (int.from_bytes(body, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(body), "big")
