"""Logs on disk and read back."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.waiting import SECONDS
from volcano.local.node.logs import LogOptions, read_log
from volcano.local.node.supervisor import logs
from volcano.local.node.supervisor.logs import LogFile, Stream, log_path


def written(folder: Path, *chunks: bytes, run: int = 0) -> None:
    """A container's output, chunk by chunk, into its log."""
    log = LogFile(log_path(str(folder), "c", run))
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    stream = Stream(reader, "stdout", log)
    for chunk in chunks:
        os.write(writer, chunk)
        stream.pump()
    os.close(writer)
    stream.drain()
    log.close()


def text(folder: Path, **options: object) -> str:
    async def read() -> bytes:
        wanted = LogOptions(**options)  # type: ignore[arg-type]
        return b"".join([piece async for piece in read_log(folder, "c", 0, wanted, lambda: False)])

    return asyncio.run(read()).decode()


def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    written(tmp_path, b"one\ntw", b"o\n\nthree")

    assert text(tmp_path) == "one\ntwo\n\nthree\n"


def test_timestamps_precede_each_line(tmp_path: Path) -> None:
    written(tmp_path, b"one\ntwo\n")

    for line in text(tmp_path, timestamps=True).splitlines():
        stamp, _, rest = line.partition(" ")
        assert len(stamp) == len("2026-11-30T01:36:20.196838807Z")
        assert rest in ("one", "two")


@pytest.mark.parametrize(
    ("lines", "expected"), [(0, ""), (1, "9\n"), (3, "7\n8\n9\n"), (50, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")]
)
def test_tail(tmp_path: Path, lines: int, expected: str) -> None:
    written(tmp_path, b"".join(b"%d\n" % number for number in range(10)))

    assert text(tmp_path, tail_lines=lines) == expected


def test_tail_over_many_blocks(tmp_path: Path) -> None:
    written(tmp_path, *(b"x" * 99 + b"%d\n" % number for number in range(6000)))

    assert text(tmp_path, tail_lines=5000).count("\n") == 5000


def test_limit_and_since(tmp_path: Path) -> None:
    written(tmp_path, b"one\ntwo\n")

    assert text(tmp_path, limit_bytes=5) == "one\nt"
    assert text(tmp_path, since="2999-01-01T00:00:00Z") == ""
    assert text(tmp_path, since="2000-01-01T00:00:00Z") == "one\ntwo\n"


def test_a_very_long_line_is_stored_in_parts_and_shown_whole(tmp_path: Path) -> None:
    line = b"x" * (3 * logs.LONGEST_LINE_BYTES + 5)
    written(tmp_path, line[:100], line[100:] + b"\nend\n")

    assert text(tmp_path) == line.decode() + "\nend\n"


def test_a_log_that_grew_too_large_goes_on_in_a_fresh_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LARGEST_FILE_BYTES", 200)
    written(tmp_path, *(b"line %d\n" % number for number in range(6)))

    assert (tmp_path / "c" / "0.log.1").exists()
    assert text(tmp_path).splitlines()[-1] == "line 5"


def test_following_ends_with_the_container(tmp_path: Path) -> None:
    async def follow() -> list[bytes]:
        running = [True]
        log = LogFile(log_path(str(tmp_path), "c", 0))
        log.write(b"2026-01-01T00:00:00.000000000Z stdout F one\n")
        pieces = []
        async for piece in read_log(tmp_path, "c", 0, LogOptions(follow=True), lambda: bool(running)):
            pieces.append(piece)
            if len(pieces) == 1:
                log.write(b"2026-01-01T00:00:01.000000000Z stderr F two\n")
            else:
                running.clear()
        return pieces

    assert asyncio.run(asyncio.wait_for(follow(), SECONDS)) == [b"one\n", b"two\n"]
