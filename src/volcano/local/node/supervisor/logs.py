"""Container output on disk, one line per record with time and stream, as a kubelet keeps it.

Neighbours: `pod` pumps the pipes; `volcano.local.node.logs` reads the files back for `kubectl logs`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

LONGEST_LINE_BYTES = 16 * 1024
LARGEST_FILE_BYTES = 50 * 1024 * 1024
_READ_BYTES = 64 * 1024
_STREAMS = ("stdout", "stderr")


def log_path(folder: str, container: str, run: int) -> str:
    """The log of the container's run number `run` (its restart count)."""
    return os.path.join(folder, container, f"{run}.log")


def older_path(path: str) -> str:
    """Where the first part of a log goes when it has grown too large."""
    return f"{path}.1"


class LogFile:
    """One run's log. Both streams of the container append to it."""

    def __init__(self, path: str) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self._path = path
        self._fd = self._open()
        self._size = os.fstat(self._fd).st_size
        self.lost_bytes = 0

    def write(self, records: bytes) -> None:
        """Append `records`. A full disk loses output, never the container."""
        try:
            if self._size + len(records) > LARGEST_FILE_BYTES:
                self._rotate()
            self._size += os.write(self._fd, records)
        except OSError:
            self.lost_bytes += len(records)

    def close(self) -> None:
        os.close(self._fd)

    def _rotate(self) -> None:
        os.close(self._fd)
        os.rename(self._path, older_path(self._path))
        self._fd = self._open()
        self._size = 0

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


class Stream:
    """One output of a container, a pipe or its terminal, on its way into the log.

    `prompts` says that somebody may answer: then even what ends no line is logged at once.
    """

    def __init__(self, fd: int, name: str, log: LogFile, *, prompts: bool = False) -> None:
        self.fd = fd
        self._name = name.encode()
        self._log = log
        self._longest_rest = 0 if prompts else LONGEST_LINE_BYTES
        self._rest = b""

    def pump(self) -> bool:
        """Move what has arrived into the log; False once the pipe has ended."""
        chunk = self._read()
        return chunk is None or bool(chunk)

    def drain(self) -> None:
        """Take what is left when the container has ended, then close."""
        while self._read():
            pass
        if self._rest:
            self._append([self._rest])
        os.close(self.fd)

    def _read(self) -> bytes | None:
        """The next piece, already logged; empty at the end, None when nothing is there yet."""
        try:
            chunk = os.read(self.fd, _READ_BYTES)
        except BlockingIOError:
            return None
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._append(lines)
        return chunk

    def _append(self, lines: list[bytes]) -> None:
        stamp = _timestamp()
        whole, part = b"%s %s F " % (stamp, self._name), b"%s %s P " % (stamp, self._name)
        records = []
        for line in lines:
            while len(line) > LONGEST_LINE_BYTES:
                records.append(part + line[:LONGEST_LINE_BYTES] + b"\n")
                line = line[LONGEST_LINE_BYTES:]  # noqa: PLW2901
            records.append(whole + line + b"\n")
        while len(self._rest) > self._longest_rest:
            records.append(part + self._rest[:LONGEST_LINE_BYTES] + b"\n")
            self._rest = self._rest[LONGEST_LINE_BYTES:]
        if records:
            self._log.write(b"".join(records))


class Outputs:
    """The logs of a pod's running containers, by name."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._open: dict[str, tuple[LogFile, list[Stream]]] = {}

    def open(self, name: str, run: int, outputs: Sequence[int], *, prompts: bool) -> None:
        """Log what a container's run writes, and its errors; of earlier runs only the last one's log is kept."""
        outdated = log_path(self._folder, name, run - 2)
        for path in (outdated, older_path(outdated)):
            if os.path.exists(path):
                os.unlink(path)
        log = LogFile(log_path(self._folder, name, run))
        self._open[name] = (log, [Stream(*each, log, prompts=prompts) for each in zip(outputs, _STREAMS, strict=False)])

    def close(self, name: str) -> None:
        """The container has ended: log what is left."""
        log, streams = self._open.pop(name)
        for stream in streams:
            stream.drain()
        log.close()

    def fds(self) -> list[int]:
        return [stream.fd for _, streams in self._open.values() for stream in streams]

    def pump(self, fd: int) -> None:
        """Move what has arrived at one pipe; a pipe at its end is closed."""
        for _, streams in self._open.values():
            for stream in streams:
                if stream.fd == fd and not stream.pump():
                    stream.drain()
                    streams.remove(stream)
                    return


def _timestamp() -> bytes:
    nanoseconds = time.time_ns()
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode() + b".%09dZ" % rest
