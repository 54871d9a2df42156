"""Local mode as a person meets it: start-up, memory at rest, and the time from `create` to bound when idle.

    python -m benchmarks.local [--rounds 5] [--pods 50]

Prints JSON: seconds to ready at a second start (median, minimum, maximum over the rounds), the sum of PSS of all
processes after a rest (MiB, users' pods not counted), the CPU they use at rest (percent of a core), and the
milliseconds between the answer to a pod's `create` and the watch event that shows it bound.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from volcano.api.resources import PODS
from volcano.cli.main import run
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.transport import HttpTransport

REST_SECONDS = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pods", type=int, default=50)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as home:
        os.environ["VOLCANO_HOME"] = home
        root = Path(home) / "local"
        vcctl("local", "up", "--detach", "--nodes", "4")
        vcctl("local", "down")
        ready = []
        for last in range(arguments.rounds - 1, -1, -1):
            started = time.perf_counter()
            vcctl("local", "up", "--detach", "--nodes", "4")
            ready.append(time.perf_counter() - started)
            if last:
                vcctl("local", "down")
        try:
            bound = asyncio.run(create_to_bound(root / "kubeconfig", arguments.pods))
            busy = cpu_percent(root / "run")
            memory = {file.stem: pss_mib(int(file.read_text())) for file in sorted((root / "run").glob("*.pid"))}
        finally:
            vcctl("local", "down")
    figures = {
        "second_start_seconds": spread(ready),
        "create_to_bound_ms": spread([1000 * seconds for seconds in bound]),
        "at_rest_cpu_percent": busy,
        "at_rest_pss_mib": {**memory, "sum": round(sum(memory.values()), 1)},
    }
    print(json.dumps(figures, indent=2))


def vcctl(*arguments: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        if run(arguments):
            raise SystemExit(f"vcctl {' '.join(arguments)} failed")


async def create_to_bound(kubeconfig: Path, count: int) -> list[float]:
    """Create `count` pods one by one on an idle cluster; seconds from each answer to its bound event."""
    client = Client(HttpTransport(config.load(kubeconfig=str(kubeconfig))), user_agent="benchmark")
    seconds = []
    try:
        listing = await client.list(PODS, "default")
        async with contextlib.aclosing(
            client.watch(PODS, "default", resource_version=listing.resource_version)
        ) as events:
            for index in range(count):
                name = f"probe-{index}"
                await client.create(PODS.untyped, pod(name), "default")
                created = time.perf_counter()
                async for event in events:
                    if event.object.metadata.name == name and event.object.spec.node_name:
                        break
                seconds.append(time.perf_counter() - created)
                await asyncio.sleep(0.1)
        for index in range(count):
            await client.delete(PODS, f"probe-{index}", "default", grace_seconds=0)
    finally:
        await client.close()
    return seconds


def pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": {"volcano.sh/simulate": "true"}},
        "spec": {
            "schedulerName": "volcano",
            "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "10m"}}}],
        },
    }


def cpu_percent(run_dir: Path) -> float:
    """CPU that all daemons together use over a rest, in percent of one core."""
    time.sleep(REST_SECONDS)
    pids = [int(file.read_text()) for file in run_dir.glob("*.pid")]
    before, started = sum(map(cpu_seconds, pids)), time.monotonic()
    time.sleep(REST_SECONDS)
    return round(100 * (sum(map(cpu_seconds, pids)) - before) / (time.monotonic() - started), 2)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pss_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return round(next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 1)


def spread(values: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 3),
        "min": round(min(values), 3),
        "max": round(max(values), 3),
    }


if __name__ == "__main__":
    main()
