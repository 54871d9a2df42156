"""How long commands take from the Enter key to their end, as processes of their own.

    python -m benchmarks.startup [--rounds 15]

Prints JSON: of each command the milliseconds of wall and of processor time (median, minimum, maximum over the rounds),
beside a Python that does nothing. Commands that ask a cluster ask a local one. `target_ms` is what we promise.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import volcano
from volcano.cli.main import run

TARGET_MS = 150.0
SCRIPTS = Path(sysconfig.get_path("scripts"))
COMMANDS = (
    "vcctl --help",
    "vcctl version",
    "vcctl job list",
    "vcctl queue list",
    "vcctl queue tree",
    "vcctl events",
    "vcctl explain queue default",
    "vcctl doctor",
    "vjobs",
    "vqueues",
    "vsub --help",
    "vsub --dry-run -n hello -c true",
    "vcancel --help",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    compileall.compile_dir(str(Path(volcano.__file__).parent), quiet=1)  # as pip does when it installs
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as home:
        os.environ["VOLCANO_HOME"] = home
        os.environ["KUBECONFIG"] = str(Path(home) / "local" / "kubeconfig")
        assert run(["local", "up", "--detach"]) == 0
        try:
            figures = {"python -c pass": measured([sys.executable, "-c", "pass"], rounds)}
            for command in COMMANDS:
                name, *arguments = command.split()
                figures[command] = measured([str(SCRIPTS / name), *arguments], rounds)
        finally:
            run(["local", "down"])
    print(json.dumps({"target_ms": TARGET_MS, "commands": figures}, indent=2))


def measured(command: list[str], rounds: int) -> dict[str, dict[str, float]]:
    """The first run, which fills caches, does not count."""
    runs = [timed(command) for _ in range(rounds + 1)][1:]
    return {"wall_ms": spread([wall for wall, _ in runs]), "cpu_ms": spread([cpu for _, cpu in runs])}


def timed(command: list[str]) -> tuple[float, float]:
    """Milliseconds of wall and processor time of a child process."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=command[1:] != ["doctor"])
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return 1000 * wall, 1000 * cpu


def spread(values: list[float]) -> dict[str, float]:
    return {name: round(of(values), 1) for name, of in (("median", statistics.median), ("min", min), ("max", max))}


if __name__ == "__main__":
    main()
