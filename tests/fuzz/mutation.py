"""Bytes that are almost right: seeds of a language, damaged at random places and mixed with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

TOKENS = (
    *(b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\n", b"\r\n", b" ", b"\t", b"\\", b'"', b"'", b"`", b"$", b"%", b"~"),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b"(",
        b")",
        b":",
        b",",
        b";",
        b"=",
        b"!",
        b"/",
        b"-",
        b"+",
        b".",
        b"*",
        b"&a ",
        b"*a",
        b"#",
    ),
    *(
        b"0",
        b"-1",
        b"1e999",
        b"9" * 40,
        b"1" * 5000,
        b"0x",
        b"null",
        b"true",
        b"NaN",
        b"Infinity",
        b"{}",
        b"[]",
        b'""',
        b"2026-13-32",
    ),
    *("\u0660".encode(), "\u00b2".encode(), "\u212a".encode(), "\U0001f600".encode(), b"\\ud800", b"\\u0000", b"<<: "),
)
LONGEST = 20_000
DEEP = (b"[" * 1200, b'{"a":' * 1200, b"- " * 1200, b"[" * 300 + b"]" * 300)
"""Twice as deep as anybody wants to look, and half as deep."""


def mutations(seeds: Sequence[bytes], rng: random.Random) -> Iterator[bytes]:
    """Without end: the seeds themselves first, and what is nested too deeply, then what becomes of the seeds."""
    yield from seeds
    yield from DEEP
    while True:
        data = rng.choice(seeds)
        for _ in range(rng.choice((1, 1, 2, 3, 8))):
            data = _damaged(data, seeds, rng)[:LONGEST]
        yield data


def _damaged(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    start = rng.randint(0, len(data))
    end = min(len(data), start + rng.choice((0, 1, 1, 4, 16)))
    match rng.randrange(7):
        case 0:
            return data[:start] + data[end:]
        case 1:
            return data[:start] + rng.choice(TOKENS) + data[end:]
        case 2:
            return data[:start] + bytes(byte ^ (1 << rng.randrange(8)) for byte in data[start:end]) + data[end:]
        case 3:
            return data[:end] + data[start:end] * rng.choice((2, 10, 300)) + data[end:]
        case 4:
            return data[:start]
        case 5:
            other = rng.choice(seeds)
            return data[:start] + other[rng.randint(0, len(other)) :]
        case _:
            return data[:start] + rng.randbytes(rng.choice((1, 2, 8))) + data[end:]
