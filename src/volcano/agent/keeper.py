"""Outlives the agent, however it dies: a process that puts back what the agent changed on its node and did not itself.

The agent says what would have to be undone before it changes anything; when it is gone, the pipe between them ends.
Only the standard library is used here, so that the waiting process stays small.
"""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, TypedDict


class Undo(TypedDict, total=False):
    """A file and what it said, or a command to run."""

    file: str
    text: str
    command: list[str]


_NOT_FOR_THE_KEEPER: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_WAIT_SECONDS: Final = 10.0
_COMMAND_SECONDS: Final = 30.0


class NodeTaken(OSError):
    """Another agent, or what is left of it, has this node's cgroups."""


class Keeper:
    """The agent's end. Only one agent at a time may have a `node`, any text that names its cgroups."""

    def __init__(self, node: str, wait_seconds: float = _WAIT_SECONDS) -> None:
        self._undo: dict[str, Undo] = {}
        self._claim = _claim(node, wait_seconds)
        self._process = self._start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def remember(self, name: str, undo: Undo) -> None:
        """How to undo what is about to be done; the first word on a name stands."""
        if name not in self._undo:
            self._undo[name] = undo
            self._tell([(name, undo)])

    def forget(self, name: str) -> None:
        """It is undone already, or need not be any more."""
        if self._undo.pop(name, None) is not None:
            self._tell([(name, None)])

    def note_file(self, path: Path, text: str | None) -> None:
        """What a file said before it is written; None once that is put back."""
        if text is None:
            self.forget(str(path))
        else:
            self.remember(str(path), {"file": str(path), "text": text})

    def revive(self) -> None:
        """Start a process that knows everything in place of one that was killed."""
        if self._process.poll() is not None:
            _close(self._process)
            self._process = self._start()

    def close(self) -> None:
        """Let the process undo what is left, and wait for it."""
        _close(self._process)
        self._claim.close()

    def _tell(self, entries: Iterable[tuple[str, Undo | None]]) -> None:
        try:
            _send(self._process, entries)
        except BrokenPipeError:
            self._process.wait()
            self.revive()

    def _start(self) -> subprocess.Popen[bytes]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _NOT_FOR_THE_KEEPER)  # which it inherits
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[self._claim.fileno()],
                start_new_session=True,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _send(process, self._undo.items())
        return process


def _claim(node: str, wait_seconds: float) -> socket.socket:
    """A name that the kernel gives to one holder, and takes back when the last process that has it is gone."""
    name = f"\0volcano-agent:{node}"
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    until = time.monotonic() + wait_seconds
    while True:
        try:
            claim.bind(name)
        except OSError as problem:
            if time.monotonic() < until:
                time.sleep(0.05)
                continue
            claim.close()
            raise NodeTaken(f"another agent has the cgroups {node}: stop it first") from problem
        return claim


def _send(process: subprocess.Popen[bytes], entries: Iterable[tuple[str, Undo | None]]) -> None:
    assert process.stdin is not None
    for entry in entries:
        process.stdin.write(json.dumps(entry).encode() + b"\n")
    process.stdin.flush()


def _close(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    process.wait()


# The process itself


def keep(lines: Iterable[bytes]) -> list[Undo]:
    """What is left to undo at the end of the lines, the newest first."""
    left: dict[str, Undo] = {}
    for line in lines:
        if not line.endswith(b"\n"):
            break  # the agent died in the middle of it, before it did what it announced
        name, undo = json.loads(line)
        if undo is None:
            left.pop(name, None)
        else:
            left[name] = undo
    return list(reversed(left.values()))


def undo_all(undos: Sequence[Undo]) -> None:
    for undo in undos:
        try:
            if "command" in undo:
                subprocess.run(undo["command"], check=False, timeout=_COMMAND_SECONDS)
            elif (path := Path(undo["file"])).exists():
                path.write_text(undo["text"])
        except (OSError, subprocess.TimeoutExpired) as problem:
            sys.stderr.write(f"vc-agent has died, and its keeper cannot undo {undo}: {problem}\n")


if __name__ == "__main__":
    undo_all(keep(sys.stdin.buffer))
