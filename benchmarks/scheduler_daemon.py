"""The scheduler as a daemon: what it costs at rest, and whether its event loop stays free in a rush.

    python -m benchmarks.scheduler_daemon [--nodes 1000] [--running 1000] [--gangs 20] [--size 500] [--rest 30]

The daemon runs in this process, its API server is local mode's in another one. At rest many jobs of ten pods run; then
gangs come. Prints JSON: CPU share and writes at rest; the longest time that one callback took on the event loop (CPU,
and with what waited for it), and how many binds left while the engine was still placing others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.rig import clusters, population
from benchmarks.rig.processes import in_process
from volcano.http.message import Response
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.transport import HttpTransport
from volcano.scheduler.daemon.flags import Flags
from volcano.scheduler.daemon.server import Scheduler

JOB_SIZE = 10
TICK_SECONDS = 0.002
SETTLE_SECONDS = 3.0
PATIENCE_SECONDS = 300.0
READS = ("GET", "HEAD")
LIMIT_BLOCKED_MS = 50.0
LIMIT_REST_PERCENT = 1.0


class Counting(HttpTransport):
    """Counts requests that change something, and binds that leave during a cycle."""

    def __init__(self, settings: config.ClusterConfig) -> None:
        super().__init__(settings)
        self.writes: Counter[str] = Counter()
        self.scheduler: Scheduler | None = None
        self.binds = 0
        self.binds_while_placing = 0

    async def request(self, method: str, path: str, **options: Any) -> Response:
        if method not in READS:
            self.writes[_kind(method, path)] += 1
        if path.endswith("/binding"):
            self.binds += 1
            self.binds_while_placing += self.scheduler is not None and self.scheduler.is_deciding
        return await super().request(method, path, **options)


class Watchdog:
    """How long the event loop is busy with other things than ticking."""

    def __init__(self) -> None:
        self.waited_ms: list[float] = []
        self.busy_ms: list[float] = []
        """CPU of the loop's own thread between two ticks: waiting for other processes is not in it."""

    async def run(self) -> None:
        while True:
            began, busy = time.monotonic(), time.thread_time()
            await asyncio.sleep(TICK_SECONDS)
            self.waited_ms.append((time.monotonic() - began - TICK_SECONDS) * 1000)
            self.busy_ms.append((time.thread_time() - busy) * 1000)

    def result(self) -> dict[str, float]:
        return {
            "longest_busy_ms": round(max(self.busy_ms), 1),
            "longest_wait_ms": round(max(self.waited_ms), 1),
            "p99_wait_ms": round(statistics.quantiles(self.waited_ms, n=100)[-1], 1),
            "limit_ms": LIMIT_BLOCKED_MS,
        }


async def measure(kubeconfig: str, options: argparse.Namespace) -> dict[str, Any]:
    transport = Counting(config.load(kubeconfig))
    client = Client(transport)
    scheduler = transport.scheduler = Scheduler(client, Flags(leader_elect=False), seed=1)
    stop = asyncio.Event()
    running = asyncio.create_task(scheduler.run(stop))
    await until(lambda: scheduler.is_ready() is None)
    await asyncio.sleep(SETTLE_SECONDS)
    result = {"at_rest": await at_rest(transport, options.rest)}
    result["rush"] = await rush(transport, kubeconfig, options.gangs, options.size)
    stop.set()
    await running
    await client.close()
    return result


async def at_rest(transport: Counting, seconds: float) -> dict[str, Any]:
    before, cpu = transport.writes.copy(), time.process_time()
    await asyncio.sleep(seconds)
    spent = time.process_time() - cpu
    return {
        "cpu_percent": round(spent / seconds * 100, 2),
        "limit_percent": LIMIT_REST_PERCENT,
        "writes": dict(transport.writes - before),
    }


async def rush(transport: Counting, kubeconfig: str, gangs: int, size: int) -> dict[str, Any]:
    """Gangs whose pods come as fast as another process can make them."""
    watchdog = Watchdog()
    ticking = asyncio.create_task(watchdog.run())
    writer = multiprocessing.get_context("spawn").Process(target=_submit, args=(kubeconfig, gangs, size))
    began, cpu = time.monotonic(), time.process_time()
    writer.start()
    await until(lambda: transport.binds >= gangs * size)
    spent = time.process_time() - cpu
    seconds = time.monotonic() - began
    ticking.cancel()
    writer.join()
    return {
        "pods": gangs * size,
        "seconds": round(seconds, 2),
        "cpu_ms_per_pod": round(spent / (gangs * size) * 1000, 3),
        "binds_while_placing": transport.binds_while_placing,
        "writes": dict(transport.writes),
        "event_loop": watchdog.result(),
    }


async def until(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not check():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


def _kind(method: str, path: str) -> str:
    """`PATCH queues/status`, whatever the queue."""
    parts = path.strip("/").split("/")
    if method == "POST":
        return f"{method} {parts[-1]}"
    return f"{method} {parts[-3]}/status" if parts[-1] == "status" else f"{method} {parts[-2]}"


def _submit(kubeconfig: str, gangs: int, size: int) -> None:
    uvloop.run(population.submit(kubeconfig, gangs, size, "gang"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--running", type=int, default=1000, help="jobs that run at rest")
    parser.add_argument("--gangs", type=int, default=20)
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--rest", type=float, default=30.0, help="seconds to look at the scheduler at rest")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder,
        clusters.local(Path(folder) / "rig") as cluster,
    ):
        path = str(cluster.kubeconfig)
        in_process(population.populate, path, options.nodes, options.running * JOB_SIZE, JOB_SIZE)
        print(json.dumps(uvloop.run(measure(path, options)), indent=2))


if __name__ == "__main__":
    main()
