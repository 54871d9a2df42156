"""The local API server under load: pods created per second, and watch events delivered, over TLS and durably.

    python -m benchmarks.apiserver [--pods 20000] [--clients 16] [--watchers 10]

The server runs as in local mode (admission on, `synchronous=FULL`); the writers and the watchers are one other process.
Every pod must be answered with 201 and reach every watcher. The floor is the same writers against a server that
answers the same bytes at once: HTTP and TLS without an API behind them. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.rig import clusters
from benchmarks.rig.processes import cpu_seconds, in_process, pss_mib
from volcano.http.message import Request, Response
from volcano.http.server import serve
from volcano.http.tls import server_context
from volcano.kube import config
from volcano.kube.transport import HttpTransport
from volcano.local.apiserver import certificates, kubeconfig

PODS = "/api/v1/namespaces/default/pods"
HEADERS = {"content-type": "application/json"}
START_SECONDS = 20.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--watchers", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder:
        with clusters.local(Path(folder) / "real") as cluster:
            pid = cluster.pid("apiserver")
            idle_mib = pss_mib(pid)
            before = cpu_seconds(pid)
            measured = in_process(load, str(cluster.kubeconfig), arguments.pods, arguments.clients, arguments.watchers)
            spent = cpu_seconds(pid) - before
            measured |= {
                "server_cpu_us_per_create": round(spent / arguments.pods * 1e6, 1),
                "server_pss_mib": {"idle": round(idle_mib, 1), "after": round(pss_mib(pid), 1)},
            }
        with floor_server(Path(folder) / "floor") as (path, _):
            floor = in_process(load, str(path), arguments.pods, arguments.clients, 0)
    measured["floor_creates_per_second"] = floor["creates_per_second"]
    measured["share_of_floor"] = round(measured["creates_per_second"] / floor["creates_per_second"], 3)
    print(json.dumps(measured, indent=2))


async def load(path: str, pods: int, clients: int, watchers: int) -> dict[str, Any]:
    """Create `pods` pods from `clients` connections while `watchers` watch; returns what happened."""
    transport = HttpTransport(config.load(path))
    received = [0] * watchers
    arrived = asyncio.Event()

    async def watch(number: int) -> None:
        query = [("watch", "true"), ("resourceVersion", version)]
        async with transport.stream("GET", "/api/v1/pods", query=query) as stream:
            async for chunk in stream:
                received[number] += chunk.count(b"\n")
                if min(received) >= pods:
                    arrived.set()

    latencies: list[float] = []

    async def write(numbers: Iterator[int]) -> None:
        for number in numbers:
            started = time.perf_counter()
            response = await transport.request("POST", PODS, headers=HEADERS, body=pod(number))
            if response.status != 201:
                raise SystemExit(f"create answered {response.status}: {response.content[:300]!r}")
            latencies.append(time.perf_counter() - started)

    version = json.loads((await transport.request("GET", "/api/v1/pods")).content)["metadata"]["resourceVersion"]
    tasks = [asyncio.create_task(watch(number)) for number in range(watchers)]
    await asyncio.sleep(0.5)
    numbers = iter(range(pods))
    started, cpu_started = time.perf_counter(), time.process_time()
    await asyncio.gather(*(write(numbers) for _ in range(clients)))
    created = time.perf_counter() - started
    if watchers:
        await asyncio.wait_for(arrived.wait(), 30)
    delivered = time.perf_counter() - started
    cpu = time.process_time() - cpu_started
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await transport.close()
    steps = statistics.quantiles(latencies, n=100)
    return {
        "pods": pods,
        "clients": clients,
        "watchers": watchers,
        "creates_per_second": round(pods / created),
        "events_per_second": round(sum(received) / delivered),
        "create_ms": {"p50": round(steps[49] * 1e3, 2), "p99": round(steps[98] * 1e3, 2)},
        "client_cpu_us_per_create": round(cpu / pods * 1e6, 1),
    }


def pod(number: int) -> bytes:
    """A pod as the job controller makes them."""
    job = f"job-{number // 500}"
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": job, "uid": job, "controller": True}
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{job}-worker-{number}",
                "labels": {"volcano.sh/job-name": job, "volcano.sh/task-spec": "worker"},
                "annotations": {"scheduling.k8s.io/group-name": job, "volcano.sh/task-index": str(number)},
                "ownerReferences": [owner],
            },
            "spec": {
                "schedulerName": "volcano",
                "restartPolicy": "Never",
                "containers": [
                    {"name": "main", "image": "busybox", "command": ["sleep", "60"], "resources": resources}
                ],
            },
        }
    ).encode()


@contextmanager
def floor_server(data: Path) -> Iterator[tuple[Path, int]]:
    """A server that knows one answer."""
    path = data / "kubeconfig"
    process = multiprocessing.get_context("spawn").Process(target=run_floor, args=(str(data), str(path)))
    process.start()
    try:
        await_file(path, process.is_alive)
        yield path, process.pid or 0
    finally:
        process.terminate()
        process.join(10)


def run_floor(data: str, path: str) -> None:
    body = pod(0)
    listing = b'{"metadata":{"resourceVersion":"1"},"items":[]}'

    async def handler(request: Request) -> Response:
        created = request.method == "POST"
        return Response(201 if created else 200, dict(HEADERS), body if created else listing)

    async def run() -> None:
        pki = certificates.ensure(Path(data) / "pki", ["127.0.0.1"])
        tls = server_context(pki.certificate("server"), pki.key("server"), client_authority=pki.certificate("ca"))
        server = await serve(handler, ssl=tls)
        kubeconfig.write(Path(path), pki, f"https://127.0.0.1:{server.port}")
        await asyncio.Event().wait()

    uvloop.run(run())


def await_file(path: Path, alive: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not path.exists():
        if not alive() or time.monotonic() > deadline:
            raise SystemExit(f"the server did not start: no {path}")
        time.sleep(0.02)


if __name__ == "__main__":
    main()
