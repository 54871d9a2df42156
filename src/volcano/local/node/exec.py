"""Commands inside running containers, over a WebSocket: the kubelet's end of `kubectl exec`.

Neighbours: `endpoint` finds the container; `supervisor.inside` becomes the command; `channels` carries its streams.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import struct
import sys
import termios
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import volcano
from volcano.http import websocket
from volcano.local.node.channels import ChannelSession
from volcano.local.node.supervisor.documents import TERMINAL_KIND, ContainerPlan

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, ERROR, RESIZE, END = 0, 1, 2, 3, 4, 255
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from volcano.local.node.supervisor.inside import main; main()"
_SOURCE = str(Path(volcano.__path__[0]).parent)


@dataclass(frozen=True)
class Command:
    """What to run where, and which streams the caller wants."""

    argv: list[str]
    container: ContainerPlan
    target: int
    stdin: bool = False
    tty: bool = False


class ExecSession(ChannelSession):
    """One command and the connection that it talks through. Ends the command when the caller goes."""

    def __init__(self, command: Command, transport: asyncio.Transport, rest: bytes) -> None:
        self._command = command
        self._terminal: int | None = None
        self._early: list[bytes] = []
        self._process: asyncio.subprocess.Process | None = None
        self._stdin_ended = False
        super().__init__(transport, rest)

    def _receive(self, channel: int, content: bytes) -> None:
        if channel == STDIN and self._command.stdin:
            self._feed(content)
        elif channel == RESIZE and self._terminal is not None:
            resize(self._terminal, content)
        elif channel == END and content[:1] == b"\x00":
            self._end_input()

    async def _run(self) -> None:
        try:
            status = await self._perform()
            self._send(ERROR, json.dumps(verdict(status)).encode())
            self._transport.write(websocket.closing(1000))
        except OSError as error:
            self._send(ERROR, json.dumps(failure(str(error))).encode())
        finally:
            self._kill()
            self._transport.close()

    async def _perform(self) -> int:
        command, theirs = self._command, None
        if command.tty:
            self._terminal, theirs = os.openpty()
        container = command.container
        order = {
            "argv": command.argv,
            "target": command.target,
            "tty": command.tty,
            **{key: container[key] for key in ("folder", "user", "group")},
            "env": {**container["env"], **({"TERM": TERMINAL_KIND} if command.tty else {})},
        }
        nothing = asyncio.subprocess.PIPE if command.stdin else asyncio.subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", _PROGRAM, _SOURCE, json.dumps(order)),
            stdin=theirs if theirs is not None else nothing,
            stdout=theirs if theirs is not None else asyncio.subprocess.PIPE,
            stderr=theirs if theirs is not None else asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        for content in self._early:
            self._feed(content)
        if self._stdin_ended:
            self._end_input()
        if theirs is not None:
            os.close(theirs)
            await self._pump_terminal()
        else:
            streams = ((self._process.stdout, STDOUT), (self._process.stderr, STDERR))
            await asyncio.gather(*(self._pump(cast(asyncio.StreamReader, stream), to) for stream, to in streams))
        return await self._process.wait()

    async def _pump_terminal(self) -> None:
        """The terminal's output; Linux reports its last user's end as an error."""
        assert self._terminal is not None
        loop, terminal = asyncio.get_running_loop(), self._terminal
        stream = asyncio.StreamReader()
        pipe = os.fdopen(os.dup(terminal), "rb", buffering=0)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
        try:
            with contextlib.suppress(OSError):
                await self._pump(stream, STDOUT)
        finally:
            transport.close()
            os.close(terminal)
            self._terminal = None

    def _feed(self, content: bytes) -> None:
        if self._process is None:
            self._early.append(content)
        elif self._terminal is not None:
            os.write(self._terminal, content)
        elif self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(content)

    def _end_input(self) -> None:
        self._stdin_ended = True
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def _kill(self) -> None:
        """Whoever asked has gone, or the command has ended: nothing of it stays."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


def resize(terminal: int, content: bytes) -> None:
    """Follow what the resize channel says; what it cannot mean is passed over."""
    with contextlib.suppress(ValueError, KeyError, TypeError, struct.error):
        size = json.loads(content)
        packed = struct.pack("HHHH", int(size["Height"]), int(size["Width"]), 0, 0)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, packed)


def verdict(status: int) -> dict[str, object]:
    """What the error channel says at the end of a command."""
    if status == 0:
        return {"metadata": {}, "status": "Success"}
    code = status if status > 0 else 128 - status
    return {
        "metadata": {},
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def failure(message: str) -> dict[str, object]:
    """What the error channel says when there is no end to tell of."""
    return {"metadata": {}, "status": "Failure", "reason": "InternalError", "message": message, "code": 500}
