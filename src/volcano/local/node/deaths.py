"""Noticing the end of a process that is not our child, and signalling it without ever hitting a stranger.

Neighbours: `runtime` watches supervisors. Linux uses process file descriptors, other systems look twice a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from typing import Protocol

_LOOK_SECONDS = 0.5


class Watch(Protocol):
    """A process being watched."""

    def send(self, number: int) -> None:
        """Signal the process, if it still lives."""

    def cancel(self) -> None:
        """Stop watching."""


def watch_death(pid: int, ended: Callable[[], None]) -> Watch:
    """Call `ended` once, soon after process `pid` has ended; at once if it has already."""
    if hasattr(os, "pidfd_open"):
        return _Descriptor(pid, ended)
    return _Poll(pid, ended)


class _Descriptor:
    def __init__(self, pid: int, ended: Callable[[], None]) -> None:
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._fd: int | None = None
        try:
            self._fd = os.pidfd_open(pid)
        except ProcessLookupError:
            self._loop.call_soon(ended)
            return
        self._loop.add_reader(self._fd, self._fire)

    def send(self, number: int) -> None:
        if self._fd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._fd, number)

    def cancel(self) -> None:
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None

    def _fire(self) -> None:
        self.cancel()
        self._ended()


class _Poll:
    def __init__(self, pid: int, ended: Callable[[], None]) -> None:
        self._pid = pid
        self._ended = ended
        self._timer = asyncio.get_running_loop().call_soon(self._look)

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, number)

    def cancel(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            self._ended()
            return
        self._timer = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)
