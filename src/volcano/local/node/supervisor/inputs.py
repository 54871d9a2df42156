"""What the containers of a pod read: nothing, a pipe that others type into, or a terminal such a pipe leads to.

Neighbours: `pod` opens, polls and closes; `volcano.local.node.attach` types; `logs` hears what a terminal shows.
"""

from __future__ import annotations

import contextlib
import os
import select

from volcano.local.node.supervisor.documents import TERMINAL_SUFFIX, ContainerPlan

_READ_BYTES = 4096


class Terminal:
    """One that a container has for itself: what is typed goes on to it as fast as it reads.

    `shown` is where to hear it, for whoever closes it; `theirs` is the container's end.
    """

    def __init__(self, user: int | None) -> None:
        self.shown, self.theirs = os.openpty()
        os.set_blocking(self.shown, False)
        if user is not None and os.geteuid() == 0:
            os.fchown(self.theirs, user, -1)  # programs open their terminal by its name, too
        self.fd = os.dup(self.shown)
        self._kept = os.dup(self.theirs)
        """A container may close its terminal and open it again: in between it is no end, nor always ready for more."""
        self._rest = b""

    @property
    def is_full(self) -> bool:
        """Whether what has been typed waits for the container to read."""
        return bool(self._rest)

    def type(self, pipe: int) -> None:
        """Move on what somebody has typed into the pipe."""
        try:
            self._rest = self._rest or os.read(pipe, _READ_BYTES)
            self._rest = self._rest[os.write(self.fd, self._rest) :]
        except BlockingIOError:
            return

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._kept)


class Inputs:
    """The inputs of a pod's running containers, by name. Their pipes are held open, so that readers wait for typing."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._pipes: dict[str, int] = {}
        self._terminals: dict[str, Terminal] = {}

    def open(self, container: ContainerPlan) -> tuple[int, Terminal | None]:
        """The end that the container reads, and the terminal it is of, if it has one. Raises OSError."""
        name = container["name"]
        self.close(name)
        path = os.devnull
        if container.get("input"):
            path = self._path(name)
            os.makedirs(self._folder, 0o700, exist_ok=True)
            os.mkfifo(path, 0o600)
            self._pipes[name] = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        if not container.get("tty"):
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC), None
        terminal = self._terminals[name] = Terminal(container["user"])
        os.makedirs(self._folder, 0o700, exist_ok=True)
        os.symlink(os.ttyname(terminal.theirs), self._path(name) + TERMINAL_SUFFIX)
        return terminal.theirs, terminal

    def close(self, name: str) -> None:
        """The container has ended, or nobody may type any more."""
        for path in (self._path(name), self._path(name) + TERMINAL_SUFFIX):
            with contextlib.suppress(FileNotFoundError):  # first: who opens a pipe that nobody reads would wait
                os.unlink(path)
        if name in self._pipes:
            os.close(self._pipes.pop(name))
        if name in self._terminals:
            self._terminals.pop(name).close()

    def close_ended(self) -> None:
        """Close those whose pipe's name is gone: who typed has ended, and nobody else may."""
        for name in [name for name in self._pipes if not os.path.exists(self._path(name))]:
            self.close(name)

    def polled(self) -> dict[int, int]:
        """What to wait for, for the sake of terminals: descriptors and their events."""
        return dict(
            (terminal.fd, select.POLLOUT) if terminal.is_full else (self._pipes[name], select.POLLIN)
            for name, terminal in self._terminals.items()
            if name in self._pipes
        )

    def pump(self) -> None:
        """Move on what has been typed."""
        for name, terminal in self._terminals.items():
            if name in self._pipes:
                terminal.type(self._pipes[name])

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)
