"""A person at a terminal: types, and looks at what is shown."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import termios
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.waiting import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROWS, COLUMNS = 31, 101


class Terminal:
    """The terminal of a running program. All that has been shown so far is `shown`."""

    def __init__(self, fd: int, program: subprocess.Popen[bytes]) -> None:
        self._fd = fd
        self._program = program
        self.shown = ""

    def type(self, keys: str, *, until: str) -> None:
        """Type, and look on until this is shown."""
        seen = len(self.shown)
        os.write(self._fd, keys.encode())
        self._look_on(until, seen)

    def exit_code(self) -> int:
        return self._program.wait(SECONDS)

    def _look_on(self, until: str, seen: int) -> None:
        deadline = time.monotonic() + SECONDS
        while until not in self.shown[seen:]:
            assert time.monotonic() < deadline, f"waited in vain for {until!r} behind {self.shown!r}"
            if select.select([self._fd], [], [], 0.1)[0]:
                try:
                    self.shown += os.read(self._fd, 4096).decode()
                except OSError:  # Linux: the program has gone
                    assert until in self.shown[seen:], f"no {until!r} behind {self.shown!r}"


@contextmanager
def at_terminal(argv: Sequence[str], env: Mapping[str, str]) -> Iterator[Terminal]:
    """Run a program in a terminal of its own, and end it."""
    ours, theirs = os.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    try:
        with subprocess.Popen(
            argv, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        ) as program:
            os.close(theirs)
            try:
                yield Terminal(ours, program)
            finally:
                program.kill()
    finally:
        os.close(ours)
