"""Child processes of a test cluster: started with a log file each, watched while awaited, ended in reverse order.

`keeper` ends them when the test run is killed.
"""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from tests.kube_cluster.keeper import Keeper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType

GIVEN_BY_HAND = 12000, 32000
PORTS = random.SystemRandom()
READY_SECONDS = 240.0
GRACE_SECONDS = 20.0
TAIL_LINES, LINE_LENGTH = 20, 400

RUNNING: list[Programs] = []
"""Of whom a report of a failure tells the last words."""


class Programs:
    """The processes of one cluster, which writes below `root`: a log file per process in "logs", its pods in "node"."""

    def __init__(self, root: Path) -> None:
        self._logs = root / "logs"
        self._keeper = Keeper(root / "node")
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, Sequence[str | Path]] = {}
        self._logs.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Programs:
        RUNNING.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            for title, words in self.last_words():
                error.add_note(f"{title}:\n{words}")
        RUNNING.remove(self)
        self.stop_all()

    def start(self, name: str, command: Sequence[str | Path]) -> None:
        self._commands[name] = command
        with (self._logs / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._keeper.started(self._running[name].pid)

    def restart(self, name: str) -> None:
        """Start the process again as it was started, after killing it if it still runs."""
        if name in self._running:
            self.kill(name)
        self.start(name, self._commands[name])

    def restart_ended(self) -> None:
        """Start again what has ended by itself."""
        for name in [name for name, process in self._running.items() if process.poll() is not None]:
            self.restart(name)

    def await_ready(
        self, name: str, ready: Callable[[], object], seconds: float = READY_SECONDS, *, restarted: bool = False
    ) -> None:
        """Wait until `ready` returns something true while the process lives, or is `restarted` when it has ended."""
        deadline = time.monotonic() + seconds
        while not ready():
            assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {name}:\n{self.tail(name)}"
            status = self._running[name].poll()
            if restarted and status is not None:
                self.restart(name)
            else:
                assert status is None, f"{name} ended with status {status}:\n{self.tail(name)}"
            time.sleep(0.1)

    def kill(self, name: str) -> None:
        """End a process at once, as a crash would."""
        process = self._running.pop(name)
        process.kill()
        process.wait()
        self._keeper.ended(process.pid)

    def stop(self, name: str) -> None:
        process = self._running.pop(name)
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._keeper.ended(process.pid)

    def stop_all(self) -> None:
        """Stop every process, then every pod."""
        for name in reversed(list(self._running)):
            self.stop(name)
        self._keeper.close()

    def lives(self, name: str) -> bool:
        return self._running[name].poll() is None

    def process_id(self, name: str) -> int:
        return self._running[name].pid

    def log(self, name: str) -> str:
        return (self._logs / f"{name}.log").read_text(errors="replace")

    def tail(self, name: str, count: int = TAIL_LINES) -> str:
        return "\n".join(line[:LINE_LENGTH] for line in self.log(name).splitlines()[-count:])

    def last_words(self) -> list[tuple[str, str]]:
        """A title and the end of the log of each process, those that have ended among them."""
        names = sorted(file.stem for file in self._logs.glob("*.log"))
        return [(f"end of the log of {name} in {self._logs.parent}", self.tail(name)) for name in names]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now; they are held together, so that they differ.

    They are below those that the system gives away by itself, so that nobody gets one before it is used.
    """
    with ExitStack() as held:
        found: list[int] = []
        while len(found) < count:
            port = PORTS.choice(range(*GIVEN_BY_HAND))
            with suppress(OSError):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(port)
        return found
