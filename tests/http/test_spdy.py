"""SPDY/3.1: frames in whatever pieces they come, headers compressed over the life of a connection, broken ones told."""

from __future__ import annotations

import struct
import zlib

import pytest

from volcano.http import spdy

LAST = 0x01


class Caller:
    """The client's half, as far as the tests need it."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zdict=spdy.DICTIONARY)

    def opens(self, stream: int, headers: dict[str, str], *, flags: int = 0) -> bytes:
        text = struct.pack("!I", len(headers))
        for part in (part.encode() for pair in headers.items() for part in pair):
            text += struct.pack("!I", len(part)) + part
        packed = self._deflate.compress(text) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return control(spdy.OPENED, struct.pack("!IIBB", stream, 0, 0, 0) + packed, flags)


def control(kind: int, payload: bytes, flags: int = 0, version: int = 3) -> bytes:
    return struct.pack("!HHI", 0x8000 | version, kind, flags << 24 | len(payload)) + payload


def test_frames_come_out_whole_however_they_come_in() -> None:
    caller = Caller()
    headers = [{"streamtype": "error", "port": "80"}, {"streamtype": "data", "port": "80", "empty": ""}]
    sent = caller.opens(1, headers[0], flags=LAST) + caller.opens(3, headers[1])
    sent += spdy.Writer().data(3, b"hello") + spdy.Writer().ping(struct.pack("!I", 7))
    sent += spdy.Writer().reset(3, 5) + spdy.Writer().data(1, b"", is_last=True)
    for size in (1, 7, len(sent)):
        reader = spdy.Reader()
        frames = [frame for at in range(0, len(sent), size) for frame in reader.feed(sent[at : at + size])]
        assert [(frame.kind, frame.stream, frame.is_last) for frame in frames] == [
            (spdy.OPENED, 1, True),
            (spdy.OPENED, 3, False),
            (spdy.DATA, 3, False),
            (spdy.PING, 7, False),
            (spdy.RESET, 3, False),
            (spdy.DATA, 1, True),
        ]
        assert [frame.headers for frame in frames[:2]] == headers
        assert frames[2].payload == b"hello"


def test_a_reply_has_no_headers() -> None:
    frame = spdy.Writer().reply(5)
    first, size, stream = struct.unpack("!III", frame[:12])
    assert (first, size, stream) == (0x80030002, len(frame) - 8, 5)
    assert zlib.decompressobj(zdict=spdy.DICTIONARY).decompress(frame[12:]) == bytes(4)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (struct.pack("!II", 1, 2**24 - 1), "larger than"),
        (control(spdy.PING, bytes(4), version=2), "version 2"),
        (control(spdy.OPENED, bytes(10) + b"not packed"), "cannot be read"),
        (Caller().opens(1, {"a": "x" * 100_000}), "larger than"),
        (control(spdy.HEADERS, bytes(4) + zlib.compress(b"\0\0\0\1\0\0\0\1a")), "cut short"),
        (control(spdy.OPENED, b""), "cut short"),
    ],
)
def test_broken_frames_are_violations(data: bytes, complaint: str) -> None:
    with pytest.raises(spdy.Violation, match=complaint):
        list(spdy.Reader().feed(data))
