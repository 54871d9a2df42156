"""The controllers under load: objects created per second, against a writer that only posts the same objects.

    python -m benchmarks.controllers [--jobs 20] [--replicas 500] [--small-jobs 10000]

API server and vc-controller-manager are processes of their own, over TLS; scheduler and nodes are off. One process
submits the jobs, admits every podgroup as soon as it appears and watches until all pods are there. The floor posts the
podgroups and pods of the same jobs, 64 requests in flight, under the same watches. A second floor also posts the jobs
and admits the podgroups, which is the users' and the scheduler's work, not the controllers'. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.apiserver import api_server, cpu_seconds, in_process, pss_mib
from volcano.api import resources
from volcano.api.batch import Job
from volcano.api.meta import JsonObject
from volcano.api.scheduling import PodGroup
from volcano.controllers.fanout import each
from volcano.controllers.job import podgroup, pods
from volcano.controllers.job.plugins import builtin_plugins
from volcano.controllers.views import POD_VIEWS, PodView
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.informer import Callbacks, Informer
from volcano.kube.transport import HttpTransport

NAMESPACE = "default"
START_SECONDS = 2.0
REST_SECONDS = 12.0


@dataclass
class Watched:
    """What the watches have shown."""

    groups: asyncio.Queue[PodGroup] = field(default_factory=asyncio.Queue)
    complete: asyncio.Event = field(default_factory=asyncio.Event)
    pods: int = 0
    statuses: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--replicas", type=int, default=500)
    parser.add_argument("--small-jobs", type=int, default=10_000)
    arguments = parser.parse_args()
    result = {
        "large_jobs": compare(arguments.jobs, arguments.replicas),
        "small_jobs": compare(arguments.small_jobs, 1),
    }
    print(json.dumps(result, indent=2))


def compare(jobs: int, replicas: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder:
        with api_server(Path(folder) / "jobs") as (path, server), controllers(path) as pid:
            time.sleep(START_SECONDS)
            before, served = cpu_seconds(pid), cpu_seconds(server)
            measured = in_process(run_jobs, str(path), jobs, replicas)
            spent, served = cpu_seconds(pid) - before, cpu_seconds(server) - served
            measured["api_server_cpu_us_per_object"] = round(served / (jobs * (replicas + 1)) * 1e6)
            measured["controllers_cpu_us_per_pod"] = round(spent / (jobs * replicas) * 1e6, 1)
            measured["controllers_pss_mib"] = round(pss_mib(pid), 1)
        for name, others in (("floor", False), ("floor_with_others", True)):
            with api_server(Path(folder) / name) as (path, server):
                before = cpu_seconds(server)
                floor = in_process(run_writer, str(path), jobs, replicas, others)
                per_object = (cpu_seconds(server) - before) / (jobs * (replicas + 1))
            measured[f"{name}_objects_per_second"] = floor["objects_per_second"]
            measured[f"{name}_api_server_cpu_us_per_object"] = round(per_object * 1e6)
            measured[f"share_of_{name}"] = round(measured["objects_per_second"] / floor["objects_per_second"], 3)
    return {"jobs": jobs, "replicas": replicas, **measured}


@contextmanager
def controllers(path: Path) -> Iterator[int]:
    loopback = ["--listen-address=127.0.0.1:0", "--healthz-address=127.0.0.1:0", "--leader-elect=false"]
    command = [sys.executable, "-m", "volcano.controllers.manager", f"--kubeconfig={path}", *loopback]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


@asynccontextmanager
async def watched(client: Client, pods_wanted: int) -> AsyncIterator[Watched]:
    """Everything the benchmark has to see; kept up in every run, so that it costs every run the same."""
    found = Watched()

    def pod_seen(_pod: PodView) -> None:
        found.pods += 1
        if found.pods == pods_wanted:
            found.complete.set()

    def status_seen(_old: Job, _new: Job) -> None:
        found.statuses += 1

    informers: list[Informer[Any]] = [
        Informer(client, resources.PODGROUPS, handler=Callbacks(found.groups.put_nowait)),
        Informer(client, POD_VIEWS, handler=Callbacks(pod_seen)),
        Informer(client, resources.JOBS, handler=Callbacks(None, status_seen)),
    ]
    tasks = [asyncio.create_task(informer.run()) for informer in informers]
    for informer in informers:
        await informer.synced()
    try:
        yield found
    finally:
        for task in tasks:
            task.cancel()


async def run_jobs(path: str, jobs: int, replicas: int) -> dict[str, Any]:
    """Submit all jobs at once and wait until every podgroup and pod exists."""
    client = Client(HttpTransport(config.load(path)))
    await make_queue(client)
    async with watched(client, jobs * replicas) as seen:
        admitters = [asyncio.create_task(admit(client, seen.groups)) for _ in range(8)]
        version = await server_version(client)
        started = time.perf_counter()

        async def submit(number: int) -> None:
            await client.create(resources.JOBS.untyped, document(number, replicas))

        failures = await each(range(jobs), submit)
        assert not failures, failures[0]
        await seen.complete.wait()
        elapsed = time.perf_counter() - started
        statuses = seen.statuses
        before = await at_rest(client)
        await asyncio.sleep(REST_SECONDS)
        after = await server_version(client)
        for task in admitters:
            task.cancel()
    return {
        "objects_per_second": round(jobs * (replicas + 1) / elapsed),
        "status_writes_per_job_meanwhile": round(statuses / jobs, 1),
        "status_writes_per_job": round(seen.statuses / jobs, 1),
        "writes_per_pod": round((before - version - 2 * jobs) / (jobs * replicas), 2),
        "writes_at_rest": after - before,
    }


async def server_version(client: Client) -> int:
    """Counts every write so far: those of the benchmark are two per job, to submit and to admit it."""
    return int((await client.list(resources.QUEUES)).resource_version)


async def at_rest(client: Client) -> int:
    """The version once nothing has been written for a while; counters may come some seconds late."""
    version = -1
    while (now := await server_version(client)) != version:
        version = now
        await asyncio.sleep(REST_SECONDS)
    return version


async def admit(client: Client, groups: asyncio.Queue[PodGroup]) -> None:
    while True:
        group = await groups.get()
        await client.patch(resources.PODGROUPS, group.metadata.name, {"status": {"phase": "Inqueue"}}, NAMESPACE)


async def run_writer(path: str, jobs: int, replicas: int, others: bool) -> dict[str, Any]:
    """Post the podgroups and pods of the same jobs; with `others`, the jobs and the admissions too."""
    client = Client(HttpTransport(config.load(path)))
    await make_queue(client)
    bodies: list[tuple[Any, Any]] = []
    for number in range(jobs):
        job = msgspec.convert(document(number, replicas), Job)
        job.metadata.uid = f"00000000-0000-4000-8000-{number:012}"
        mould = pods.mould(job, job.spec.tasks[0], builtin_plugins())
        bodies.append((resources.PODGROUPS.untyped, podgroup.build(job, {})))
        bodies += [(POD_VIEWS, msgspec.Raw(mould.body(index))) for index in range(replicas)]
        if others:
            bodies.append((resources.JOBS.untyped, document(number, replicas)))

    async def post(item: tuple[Any, Any]) -> None:
        await client.create(item[0], item[1], NAMESPACE)

    async with watched(client, jobs * replicas) as seen:
        admitters = [asyncio.create_task(admit(client, seen.groups)) for _ in range(8 * others)]
        started = time.perf_counter()
        failures = await each(bodies, post)
        assert not failures, failures[0]
        await seen.complete.wait()
        elapsed = time.perf_counter() - started
        for task in admitters:
            task.cancel()
    return {"objects_per_second": round(jobs * (replicas + 1) / elapsed)}


async def make_queue(client: Client) -> None:
    for name in ("root", "default"):
        await client.create(resources.QUEUES.untyped, {"metadata": {"name": name}, "spec": {"weight": 1}})


def document(number: int, replicas: int) -> JsonObject:
    containers = [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "100m"}}}]
    task = {"name": "worker", "replicas": replicas, "template": {"spec": {"containers": containers}}}
    return {
        "apiVersion": resources.JOBS.api_version,
        "kind": resources.JOBS.kind,
        "metadata": {"name": f"job-{number}", "namespace": NAMESPACE},
        "spec": {
            "minAvailable": replicas,
            "schedulerName": "volcano",
            "queue": "default",
            "plugins": {"env": []},
            "tasks": [task],
        },
    }


if __name__ == "__main__":
    main()
