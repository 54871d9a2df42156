"""A test run that is killed leaves none of its processes behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
RUN = """
import sys, time
from pathlib import Path
from tests.waiting import eventually
from tests.kube_cluster.programs import Programs

programs = Programs(Path(sys.argv[1]))
programs.start("ended", ["sleep", "600"])
programs.kill("ended")
programs.start("left", ["sleep", "600"])
print(programs.process_id("left"), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_killed_run_started_ends_with_it(tmp_path: Path, how: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", RUN, tmp_path], cwd=ROOT, stdout=subprocess.PIPE) as run:
        assert run.stdout
        left = int(run.stdout.readline())
        run.send_signal(how)

    eventually("what was left to end", lambda: not lives(left))


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
