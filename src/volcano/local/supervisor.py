"""Keeps the daemons of local mode running: forks each from one preloaded parent, restarts those that die.

Synchronous and single-threaded on purpose: a process that forks must hold no threads, loops or locks.
Used by `cluster.py`, which says what the daemons are.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_RESTART_DELAYS = (0.1, 0.5, 1.0, 2.0, 5.0)
_STEADY_SECONDS = 30.0
_STOP_SECONDS = 10.0
_QUESTION_SECONDS = 5.0
_QUICK_DEATHS = 5
"""So often a daemon may be killed in a row while the cluster starts."""
_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(frozen=True)
class Daemon:
    """One child process: `target` is "module:function", called with `argv` as its command line."""

    name: str
    target: str
    argv: tuple[str, ...]


@dataclass
class _Child:
    daemon: Daemon
    pid: int = 0
    started: float = 0.0
    failures: int = 0
    restart_at: float = 0.0


@dataclass
class Supervisor:
    """Runs daemons until it is told to stop. Their output goes to `log_dir/<name>.log`.

    The first one started serves the others, and is therefore the last to be stopped.
    """

    daemons: Sequence[Daemon]
    log_dir: Path
    run_dir: Path
    _children: list[_Child] = field(default_factory=list)
    _stopping: bool = False

    def start(self, daemon: Daemon) -> None:
        """Fork `daemon` now and keep it running from here on."""
        child = _Child(daemon)
        self._children.append(child)
        self._fork(child)

    def watch(self, on_exit: Callable[[str, int], None], wanted: Callable[[], bool] = lambda: True) -> None:
        """Restart children that end, with growing delays, until SIGTERM, SIGINT or SIGHUP; then stop them all.

        So does an answer of False by `wanted`, which is asked now and then.
        """
        wake, notify = os.pipe()
        os.set_blocking(notify, False)
        signal.set_wakeup_fd(notify)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup and background jobs have them
                signal.signal(number, self._request_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while not self._stopping and wanted():
            self._reap(on_exit)
            self._restart_due()
            if select.select([wake], [], [], self._seconds_to_next_restart())[0]:
                os.read(wake, 4096)
        self.stop()

    def stop(self) -> None:
        """Ask all children to end, the first one when the others have; kill what is left after ten seconds."""
        self._stopping = True
        first, others = self._children[:1], self._children[1:]
        for children in (others, first):
            for number in (signal.SIGTERM, signal.SIGKILL):
                self._end(children, number)

    def failed(self) -> dict[str, int]:
        """The daemons that cannot start, with their exit status, before `watch` takes care of them.

        Those that were killed start again, a few times.
        """
        failed: dict[str, int] = {}

        def judge(name: str, status: int) -> None:
            child = next(child for child in self._children if child.daemon.name == name)
            if status >= 0 or child.failures >= _QUICK_DEATHS:
                failed[name] = status

        self._reap(judge)
        if not failed:
            self._restart_due()
        return failed

    def _fork(self, child: _Child) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)  # our handlers must not see what is sent to the child
        try:
            pid = os.fork()
            if pid == 0:
                _become(child.daemon, self.log_dir / f"{child.daemon.name}.log", parent)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        child.pid, child.started = pid, time.monotonic()
        with suppress(OSError):  # on a full disk: only `status` needs the file, the daemons must go on
            self._note(child.daemon.name, pid)

    def _note(self, name: str, pid: int) -> None:
        """Write the daemon's process id where people and tools look for it; they never see half a file."""
        partial = self.run_dir / f"{name}.partial"
        partial.write_text(f"{pid}\n")
        partial.rename(self.run_dir / f"{name}.pid")

    def _reap(self, on_exit: Callable[[str, int], None]) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = next((child for child in self._children if child.pid == pid), None)
            if child is None:
                continue
            now = time.monotonic()
            child.failures = 0 if now - child.started > _STEADY_SECONDS else child.failures + 1
            delay = _RESTART_DELAYS[min(child.failures, len(_RESTART_DELAYS) - 1)]
            child.pid, child.restart_at = 0, now + delay
            on_exit(child.daemon.name, os.waitstatus_to_exitcode(status))

    def _restart_due(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if not child.pid and child.restart_at <= now:
                self._fork(child)

    def _seconds_to_next_restart(self) -> float:
        now = time.monotonic()
        due = [child.restart_at - now for child in self._children if not child.pid]
        return max(min([*due, _QUESTION_SECONDS]), 0.01)

    def _end(self, children: Sequence[_Child], number: int) -> None:
        """Send a signal to those that run and wait for them, for all together at most ten seconds."""
        for child in children:
            if child.pid:
                _signal(child.pid, number)
        deadline = time.monotonic() + _STOP_SECONDS
        while any(child.pid for child in children) and time.monotonic() < deadline:
            self._reap(lambda *_: None)
            time.sleep(0.01)

    def _request_stop(self, *_: object) -> None:
        self._stopping = True


def _become(daemon: Daemon, log: Path, parent: int) -> None:
    """In the child: die with the parent, write to the log, run the daemon's main function; never returns."""
    status = 1
    try:
        die_with(parent)
        signal.set_wakeup_fd(-1)
        for number in _HANDLED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        os.setsid()
        _redirect(log)
        module, _, function = daemon.target.partition(":")
        sys.argv = [daemon.name, *daemon.argv]
        outcome = getattr(importlib.import_module(module), function)(list(daemon.argv))
        status = outcome if isinstance(outcome, int) else 0
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if isinstance(stop.code, str):
            sys.stderr.write(stop.code + "\n")
    except BaseException:  # noqa: BLE001 - the last frame of a process: whatever it was belongs in its log
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def die_with(parent: int) -> None:
    """Have the kernel send SIGTERM to this process when its parent dies (Linux; elsewhere nothing happens)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def _redirect(log: Path) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (descriptor, 1), (descriptor, 2)):
        os.dup2(source, target)
    os.close(descriptor)
    os.close(null)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
