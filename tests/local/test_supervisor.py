"""The supervisor of local mode keeps its children running, and ends them with itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import eventually

PROGRAM = """
import os, sys
from pathlib import Path
from typing import Any
import volcano.local.supervisor
from volcano.local.supervisor import Daemon, Supervisor

def sleeper(argv):
    import time
    print("started", os.getpid(), flush=True)
    time.sleep(60)

def failing(argv):
    raise SystemExit("the port is in use")

def stubborn(argv):
    import signal, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(0.3)
    print("started", os.getpid(), flush=True)
    time.sleep(60)

def starting():
    while not (names := supervisor.failed()):
        print("starting", flush=True)
        import time
        time.sleep(0.05)
    print("failed", *names, flush=True)

run = Path(sys.argv[1])
volcano.local.supervisor._STOP_SECONDS = volcano.local.supervisor._QUESTION_SECONDS = 0.5
sys.modules["prog"] = sys.modules["__main__"]
supervisor = Supervisor((), run, run)
supervisor.start(Daemon(sys.argv[2], "prog:" + sys.argv[2], ()))
if "starting" in sys.argv:
    starting()
unwanted = run / "unwanted"
supervisor.watch(lambda name, status: print(name, "ended", status, flush=True), lambda: not unwanted.exists())
"""


@pytest.fixture
def supervise(tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    def start(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), *words], stdout=subprocess.PIPE, text=True
        )

    return start


def starts(log: Path) -> list[int]:
    """The process ids of a daemon's starts; a line that is being written does not count."""
    lines = log.read_text().rpartition("\n")[0].splitlines() if log.exists() else []
    return [int(line.split()[1]) for line in lines]


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # it has just gone
        return True


def test_a_killed_daemon_is_started_again(supervise, tmp_path):
    with supervise("sleeper") as process:
        (first,) = eventually("the daemon to start", lambda: starts(tmp_path / "sleeper.log"))
        os.kill(first, signal.SIGKILL)
        pids = eventually("a second start", lambda: (found := starts(tmp_path / "sleeper.log"))[1:] and found)
        process.terminate()

    assert pids[0] != pids[1]
    assert is_gone(pids[1])


def test_daemons_end_with_a_killed_supervisor(supervise, tmp_path):
    with supervise("sleeper") as process:
        (pid,) = eventually("the daemon to start", lambda: starts(tmp_path / "sleeper.log"))
        process.kill()
        process.wait()

    eventually("the daemon to end", lambda: is_gone(pid))


def test_a_daemon_that_cannot_start_leaves_its_reason_in_its_log(supervise, tmp_path):
    with supervise("failing") as process:
        line = process.stdout.readline()
        process.terminate()

    assert line.strip() == "failing ended 1"
    assert "the port is in use" in (tmp_path / "failing.log").read_text()


def test_a_daemon_that_is_killed_while_the_cluster_starts_gets_another_chance(supervise, tmp_path):
    with supervise("sleeper", "starting") as process:
        (first,) = eventually("the daemon to start", lambda: starts(tmp_path / "sleeper.log"))
        os.kill(first, signal.SIGKILL)
        eventually("a second start", lambda: len(starts(tmp_path / "sleeper.log")) == 2)
        process.terminate()
        said = process.stdout.read()

    assert set(said.splitlines()) == {"starting"}


def test_a_daemon_that_cannot_start_is_named(supervise):
    with supervise("failing", "starting") as process:
        said = "starting"
        while said == "starting":
            said = process.stdout.readline().strip()
        process.terminate()

    assert said == "failed failing"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_daemon_that_does_not_want_to_end_is_killed(supervise, tmp_path, number):
    with supervise("stubborn") as process:
        (pid,) = eventually("the daemon to start", lambda: starts(tmp_path / "stubborn.log"))
        process.send_signal(number)

    assert is_gone(pid)
    assert process.returncode == 0


def test_a_cluster_that_is_wanted_no_more_ends(supervise, tmp_path):
    with supervise("sleeper") as process:
        (pid,) = eventually("the daemon to start", lambda: starts(tmp_path / "sleeper.log"))
        (tmp_path / "unwanted").touch()

    assert is_gone(pid)
    assert process.returncode == 0
