"""Local mode as a person meets it: start-up, memory at rest, and the time from `create` to bound when idle.

    python -m benchmarks.local [--rounds 5] [--pods 50]

Prints JSON: seconds to ready at a second start (median, minimum, maximum over the rounds), the milliseconds between
the answer to a pod's `create` and the watch event that shows it bound, and of each process after a rest the memory
(PSS in MiB; there are no pods) and the CPU (percent of a core). `targets` are the bounds that we promise.
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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from volcano.api.resources import PODS
from volcano.cli.main import run
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.transport import HttpTransport
from volcano.local.cluster import running
from volcano.local.layout import Layout

REST_SECONDS = 10.0
TARGETS = {
    "second_start_seconds": 2.0,
    "create_to_bound_ms": 100.0,
    "at_rest_pss_mib": 150.0,
    "at_rest_cpu_percent": 2.0,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pods", type=int, default=50)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as home:
        os.environ["VOLCANO_HOME"] = home
        layout = Layout(Path(home) / "local")
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
            bound = asyncio.run(create_to_bound(layout.kubeconfig, arguments.pods))
            processes = family(layout)
            busy = cpu_percent(processes)
            memory = {name: pss_mib(pid) for name, pid in processes.items()}
        finally:
            vcctl("local", "down")
    figures = {
        "second_start_seconds": spread(ready),
        "create_to_bound_ms": spread([1000 * seconds for seconds in bound]),
        "at_rest_cpu_percent": {**busy, "sum": round(sum(busy.values()), 2)},
        "at_rest_pss_mib": {**memory, "sum": round(sum(memory.values()), 1)},
        "targets": TARGETS,
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


def family(layout: Layout) -> dict[str, int]:
    """The supervisor and all that descend from it, by what they are."""
    names = {int(file.read_text()): file.stem for file in layout.run.glob("*.pid")}
    supervisor = running(layout)
    assert supervisor
    names[supervisor] = "supervisor"
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(file.parent.name)] = int(stat(file)[1])
    found = {"supervisor": supervisor}
    waiting = [supervisor]
    while waiting:
        parent = waiting.pop()
        for pid in (pid for pid, its in parents.items() if its == parent):
            found[names.get(pid, f"{names.get(parent, parent)}'s child")] = pid
            waiting.append(pid)
    return found


def cpu_percent(processes: Mapping[str, int]) -> dict[str, float]:
    """CPU that each of them uses over a rest, in percent of one core."""
    time.sleep(REST_SECONDS)
    before, started = {name: cpu_seconds(pid) for name, pid in processes.items()}, time.monotonic()
    time.sleep(REST_SECONDS)
    passed = time.monotonic() - started
    return {name: round(100 * (cpu_seconds(pid) - before[name]) / passed, 2) for name, pid in processes.items()}


def cpu_seconds(pid: int) -> float:
    fields = stat(Path(f"/proc/{pid}/stat"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stat(file: Path) -> list[str]:
    """The fields of /proc/PID/stat from the third on."""
    return file.read_text().rpartition(")")[2].split()


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
