"""What a task on warm workers costs, beside calling the function here.

    python -m benchmarks.executor [--tasks 1000] [--workers 2]

Prints JSON: milliseconds per task through `Executor.map` (median, minimum, maximum over the rounds) and by a plain
loop, and the seconds from nothing to the first result. `targets` are the bounds that we promise.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from volcano import Client
from volcano.local import cluster
from volcano.local.layout import Layout

ROUNDS = 5
TARGETS = {"overhead_ms_per_task": 20.0, "first_result_seconds": 5.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as home:
        os.environ["VOLCANO_HOME"] = home
        try:
            print(json.dumps(measure(arguments.tasks, arguments.workers), indent=2))
        finally:
            cluster.stop(Layout(Path(home) / "local"))


def measure(tasks: int, workers: int) -> dict[str, object]:
    started = time.perf_counter()
    with Client(local=True) as client, client.executor(workers) as executor:
        executor.submit(abs, -1).result()
        first = time.perf_counter() - started
        here = rounds(tasks, lambda: list(map(abs, range(-tasks, 0))))
        there = rounds(tasks, lambda: list(executor.map(abs, range(-tasks, 0))))
    return {
        "tasks": tasks,
        "workers": workers,
        "first_result_seconds": round(first, 2),
        "ms_per_task": there,
        "ms_per_task_here": here,
        "overhead_ms_per_task": round(there["median"] - here["median"], 4),
        "targets": TARGETS,
    }


def rounds(tasks: int, work: Callable[[], object]) -> dict[str, float]:
    """Milliseconds per task."""
    taken = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1000 / tasks)
    return {name: round(find(taken), 4) for name, find in (("median", statistics.median), ("min", min), ("max", max))}


if __name__ == "__main__":
    main()
