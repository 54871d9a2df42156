"""The demo of the README: two jobs on a cluster that exists only on this machine, from submission to completion.

Everything it does, it does through vcctl, as a person would.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent


def vcctl(*arguments: str) -> None:
    """Show a vcctl command, run it, and stop the demo if it fails."""
    print(f"\n$ vcctl {' '.join(arguments)}", flush=True)
    subprocess.run([sys.executable, "-m", "volcano.cli.main", *arguments], check=True)


def main() -> None:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="volcano-demo-") as home:
        os.environ["VOLCANO_HOME"] = home
        os.environ["KUBECONFIG"] = str(Path(home) / "local" / "kubeconfig")
        vcctl("local", "up", "--detach")
        try:
            run_jobs()
        finally:
            vcctl("local", "down")
    print(f"\nBoth jobs completed. The demo took {time.monotonic() - started:.0f} s.")


def run_jobs() -> None:
    """Create the queue, run the two jobs, show what they wrote."""
    vcctl("queue", "create", "--name", "test")
    vcctl("job", "run", "--filename", str(HERE / "job-1.yaml"), "--watch")
    vcctl("job", "logs", "job-1")
    vcctl("job", "run", "--filename", str(HERE / "gang-restart.yaml"), "--watch")
    vcctl("job", "logs", "gang")
    vcctl("job", "list")
    vcctl("queue", "list")


if __name__ == "__main__":
    main()
