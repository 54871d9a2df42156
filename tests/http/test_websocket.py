"""Frames in and out, whole and in pieces, and what is not taken."""

from __future__ import annotations

import contextlib
import os
import struct

import pytest
from hypothesis import given, strategies as st

from volcano.http import websocket
from volcano.http.websocket import BINARY, CLOSE, CONTINUATION, PING, TEXT, Message, Reader, Violation


def masked(kind: int, payload: bytes, *, final: bool = True) -> bytes:
    """A frame as clients send it."""
    mask, size = os.urandom(4), len(payload)
    if size < 126:
        head = struct.pack("!BB", (0x80 if final else 0) | kind, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", (0x80 if final else 0) | kind, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", (0x80 if final else 0) | kind, 0x80 | 127, size)
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


@given(st.lists(st.tuples(st.sampled_from([TEXT, BINARY]), st.binary(max_size=300)), max_size=5), st.integers(1, 50))
def test_messages_come_out_as_they_went_in_however_the_bytes_arrive(
    messages: list[tuple[int, bytes]], piece: int
) -> None:
    data = b"".join(masked(kind, payload) for kind, payload in messages)
    reader, found = Reader(), []
    for start in range(0, len(data), piece):
        found += list(reader.feed(data[start : start + piece]))
    assert found == messages


def test_fragments_are_one_message_and_control_frames_come_between() -> None:
    data = masked(BINARY, b"one ", final=False) + masked(PING, b"?") + masked(CONTINUATION, b"two")
    assert list(Reader().feed(data)) == [Message(PING, b"?"), Message(BINARY, b"one two")]


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536])
def test_sizes_are_written_in_their_three_forms(size: int) -> None:
    payload = b"x" * size
    assert list(Reader().feed(masked(BINARY, payload))) == [Message(BINARY, payload)]
    ours = websocket.frame(BINARY, payload)
    assert ours.endswith(payload)
    assert len(ours) - size == (2 if size < 126 else 4 if size < 65536 else 10)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x82\x01x", 1002),
        (masked(0x3, b""), 1002),
        (b"\xf2\x80", 1002),
        (masked(CONTINUATION, b"x"), 1002),
        (masked(TEXT, b"x", final=False) + masked(TEXT, b"y"), 1002),
        (masked(PING, b"x" * 126), 1002),
        (masked(CLOSE, b"", final=False), 1002),
        (b"\x82\xff" + (2**40).to_bytes(8, "big"), 1009),
    ],
    ids=["unmasked", "reserved", "extension", "nothing to continue", "torn", "long ping", "torn close", "too large"],
)
def test_what_breaks_the_protocol_is_told_with_its_code(data: bytes, code: int) -> None:
    with pytest.raises(Violation) as violation:
        list(Reader().feed(data))
    assert violation.value.code == code


@given(st.binary(max_size=200))
def test_noise_is_refused_or_waited_for(data: bytes) -> None:
    with contextlib.suppress(Violation):
        list(Reader().feed(data))


def test_the_answer_to_a_key_is_the_one_of_the_rfc() -> None:
    assert websocket.accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
