"""Reading container logs back: tail, since, timestamps, limit, follow, for `kubectl logs`.

Neighbours: `supervisor.logs` writes the files; `endpoint` serves them over HTTPS.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from volcano.local.node.supervisor.logs import log_path, older_path

_BLOCK_BYTES = 256 * 1024
_POLL_SECONDS = 0.1
_ECHO_SECONDS = 0.02


@dataclass(frozen=True)
class LogOptions:
    """What of a log is wanted. `since` is a time like those in the log; the empty string means everything."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since: str = ""


def log_files(folder: Path, container: str, run: int) -> list[Path]:
    """The files of one run's log, oldest first."""
    path = log_path(str(folder), container, run)
    return [Path(p) for p in (older_path(path), path) if Path(p).exists()]


def render(record: bytes, options: LogOptions) -> bytes:
    """The text to show for one stored record (`time stream tag text`); empty when it is too old."""
    time, _, rest = record.partition(b" ")
    if options.since and time < options.since.encode():
        return b""
    _stream, _, rest = rest.partition(b" ")
    tag, _, text = rest.partition(b" ")
    shown = time + b" " + text if options.timestamps else text
    return shown if tag == b"P" else shown + b"\n"


async def spoken(
    folder: Path, container: str, run: int, is_running: Callable[[], bool], *, soon: bool = False
) -> AsyncIterator[tuple[bool, bytes]]:
    """What a container writes from now on until it ends, for `kubectl attach`: whether to standard error, and what.

    `soon` enough for one who types and waits for the echo.
    """
    current = Path(log_path(str(folder), container, run))
    reached = next((end for _, end in _starts(folder, container, run, 0)), 0)
    while True:
        running, offset = is_running(), reached
        for records, reached in _added(current, offset):  # noqa: B007 - the last one is where to go on
            for record in records:
                yield record.split(b" ", 2)[1:2] == [b"stderr"], render(record, LogOptions())
        if not running:
            return
        await asyncio.sleep(_ECHO_SECONDS if soon else _POLL_SECONDS)


def tail_offset(path: Path, lines: int) -> int:
    """Where the last `lines` lines of a file begin."""
    if lines <= 0:
        return path.stat().st_size
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        missing = lines + 1
        while position > 0:
            start = max(0, position - _BLOCK_BYTES)
            file.seek(start)
            block = file.read(position - start)
            found = block.count(b"\n")
            if found >= missing:
                for _ in range(missing):
                    end = block.rindex(b"\n")
                    block = block[:end]
                return start + end + 1
            missing -= found
            position = start
    return 0


async def read_log(
    folder: Path, container: str, run: int, options: LogOptions, is_running: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """The wanted part of the log, piece by piece; with `follow`, until the container has ended."""
    budget = options.limit_bytes
    async for piece in _pieces(folder, container, run, options, is_running):
        if not piece:
            continue
        if budget is None:
            yield piece
            continue
        yield piece[:budget]
        budget -= len(piece)
        if budget <= 0:
            return


async def _pieces(
    folder: Path, container: str, run: int, options: LogOptions, is_running: Callable[[], bool]
) -> AsyncIterator[bytes]:
    current = Path(log_path(str(folder), container, run))
    reached = 0
    for path, start in _starts(folder, container, run, options.tail_lines):
        reached = start
        for piece, reached in _rendered(path, start, options):  # noqa: B007 - the last one is where to go on
            yield piece
    while options.follow:
        running, offset = is_running(), reached
        for piece, reached in _appended(current, offset, options):  # noqa: B007
            yield piece
        if not running:
            return
        await asyncio.sleep(_POLL_SECONDS)


def _starts(folder: Path, container: str, run: int, tail_lines: int | None) -> list[tuple[Path, int]]:
    """Which files to read, and from where, for the wanted number of lines."""
    paths = log_files(folder, container, run)
    if tail_lines is None or not paths:
        return [(path, 0) for path in paths]
    return [(paths[-1], tail_offset(paths[-1], tail_lines))]


def _appended(path: Path, offset: int, options: LogOptions) -> Iterator[tuple[bytes, int]]:
    """What has been added since `offset`, also when the file was put aside meanwhile for having grown too large."""
    for records, reached in _added(path, offset):
        yield b"".join(render(record, options) for record in records), reached


def _added(path: Path, offset: int) -> Iterator[tuple[list[bytes], int]]:
    if not path.exists():
        return
    if path.stat().st_size < offset:
        yield from _records(Path(older_path(str(path))), offset)
        offset = 0
    yield from _records(path, offset)


def _rendered(path: Path, offset: int, options: LogOptions) -> Iterator[tuple[bytes, int]]:
    """Whole records from `offset` on, rendered a block at a time, each with the offset behind it."""
    for records, reached in _records(path, offset):
        yield b"".join(render(record, options) for record in records), reached


def _records(path: Path, offset: int) -> Iterator[tuple[list[bytes], int]]:
    rest = b""
    with path.open("rb") as file:
        file.seek(offset)
        while block := file.read(_BLOCK_BYTES):
            offset += len(block)
            *records, rest = (rest + block).split(b"\n")
            yield records, offset - len(rest)
