"""A local cluster when somebody needs one: used if it runs, started in the background if not. For the SDK.

`python -m volcano.local.background ROOT` is the process that stays.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from volcano.local.cluster import READY_SECONDS, LocalError, Options, prepare, run, running, takes_jobs
from volcano.local.layout import Layout
from volcano.local.probe import Unreachable

READY = b"ready\n"


def ensure(layout: Layout) -> bool:
    """Return once the cluster of `layout` takes jobs; True when it had to be started. Raises LocalError."""
    started = running(layout) is None and _start(layout)
    deadline = time.monotonic() + READY_SECONDS
    while not _is_ready(layout):
        if time.monotonic() > deadline:
            raise LocalError(f"the cluster in {layout.root} runs but takes no jobs: see {layout.logs}")
        time.sleep(0.05)
    return started


def _is_ready(layout: Layout) -> bool:
    try:
        return takes_jobs(layout)
    except Unreachable:
        return False


def _start(layout: Layout) -> bool:
    """Start it in a session of its own; False when somebody else was faster."""
    prepare(layout)
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "volcano.local.background", str(layout.root), str(writer)]
    with (layout.logs / "supervisor.log").open("ab") as log:
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(writer,), start_new_session=True
        )
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.readline()  # not up to the end: the daemons hold the other side open too
        if answer == READY:
            return True
        if running(layout) is not None:
            return False
        answer += pipe.read()
    raise LocalError(answer.decode().strip() or f"the cluster ended before it was ready: see {layout.logs}")


def main(root: str, writer: int) -> int:
    """Run the cluster until it is stopped; say on `writer` that it is ready, or why it is not."""

    def tell(text: bytes) -> None:
        os.write(writer, text)
        os.close(writer)

    try:
        run(Layout(Path(root)), Options(), lambda: tell(READY))
    except LocalError as error:
        tell(str(error).encode())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
