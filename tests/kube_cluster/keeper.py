"""A process that outlives a test run for the moment it takes to end what the run leaves behind, however the run ended.

It reads from a pipe which processes start and end; the pipe closes with the run. `programs` writes to it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path


class Keeper:
    """The end of the pipe that the test run holds."""

    def __init__(self, node: Path) -> None:
        """The pods that a node left in the folder `node` are ended, too."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, node], stdin=subprocess.PIPE, start_new_session=True
        )

    def started(self, pid: int) -> None:
        self._write(f"+{pid}\n")

    def ended(self, pid: int) -> None:
        self._write(f"-{pid}\n")

    def close(self) -> None:
        """Let it end what is left; return when that is done."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _write(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()


def main(node: Path) -> None:
    """Listen to the end, then clear up."""
    living: set[int] = set()
    for line in sys.stdin:
        (living.add if line[0] == "+" else living.discard)(int(line[1:]))
    for group in living:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    if node.exists():
        from volcano.local.node.shutdown import stop_pods

        stop_pods(node)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
