"""The controllers under load: objects created per second, against a writer that only posts the same objects.

    python -m benchmarks.controllers [--jobs 20] [--replicas 500] [--small-jobs 10000] [--only local|kubernetes]

On local mode's API server and on Kubernetes' own (where `make kube` has built it). API server and vc-controller-manager
are processes of their own, over TLS; scheduler and nodes are off. One process submits the jobs, admits every podgroup
as soon as it appears and watches until all pods are there. The floor posts the podgroups and pods of the same jobs, 64
requests in flight, under the same watches. A second floor also posts the jobs and admits the podgroups, which is the
users' and the scheduler's work, not the controllers'. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kube_cluster import control_plane

from benchmarks.rig import clusters
from benchmarks.rig.jobs import NAMESPACE, document, make_queues, outcome
from benchmarks.rig.processes import in_process, pss_mib
from benchmarks.rig.requests import requests_so_far, writes
from volcano.api import resources
from volcano.api.batch import Job
from volcano.api.scheduling import PodGroup
from volcano.controllers.fanout import each
from volcano.controllers.views import POD_VIEWS, PodView
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.informer import Callbacks, Informer
from volcano.kube.transport import HttpTransport

CONTROLLERS = "vc-controller-manager"
REST_SECONDS = 20.0
"""So long nothing may be written once everything has been told."""
CALM_SECONDS = 3.0
"""Podgroups and queues follow the statuses of jobs, which are waited for however late they are, sooner than that."""
TOLD_SECONDS = 300.0

Make = Callable[[Path], AbstractContextManager[clusters.Cluster]]


@dataclass
class Watched:
    """What the watches have shown."""

    groups: asyncio.Queue[PodGroup] = field(default_factory=asyncio.Queue)
    complete: asyncio.Event = field(default_factory=asyncio.Event)
    pods: int = 0
    statuses: int = 0
    told: set[str] = field(default_factory=set)
    """Jobs whose status counts all of their pods."""
    all_told: asyncio.Event = field(default_factory=asyncio.Event)
    admitted: int = 0
    all_admitted: asyncio.Event = field(default_factory=asyncio.Event)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--replicas", type=int, default=500)
    parser.add_argument("--small-jobs", type=int, default=10_000)
    parser.add_argument("--only", choices=("local", "kubernetes"))
    arguments = parser.parse_args()
    result: dict[str, Any] = {}
    for name, make in (("local", clusters.local), ("kubernetes", kubernetes)):
        if arguments.only not in (None, name):
            continue
        if name == "kubernetes" and (why := control_plane.absence()):
            result[name] = {"skipped": why}
            continue
        result[name] = {}
        for size, jobs, replicas in (
            ("large_jobs", arguments.jobs, arguments.replicas),
            ("small_jobs", arguments.small_jobs, 1),
        ):
            if jobs:
                result[name][size] = compare(make, jobs, replicas)
    print(json.dumps(result, indent=2))


def kubernetes(root: Path) -> AbstractContextManager[clusters.Cluster]:
    """Without its controllers: nobody else writes."""
    return clusters.kubernetes(root, controllers=False)


def compare(make: Make, jobs: int, replicas: int) -> dict[str, Any]:
    objects = jobs * (replicas + 1)
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder:
        with make(Path(folder) / "jobs") as cluster:
            cluster.make_account()
            cluster.start_controllers()
            measured, cpu = costing(cluster, run_jobs, jobs, replicas)
            measured["api_server_cpu_us_per_object"] = per(objects, *(cpu[name] for name in cluster.server))
            measured["controllers_cpu_us_per_object"] = per(objects, cpu[CONTROLLERS])
            measured["controllers_pss_mib"] = round(pss_mib(cluster.pid(CONTROLLERS)), 1)
        for name, others in (("floor", False), ("floor_with_others", True)):
            with make(Path(folder) / name) as cluster:
                cluster.make_account()
                floor, cpu = costing(cluster, run_writer, jobs, replicas, others)
                measured[f"{name}_api_server_cpu_us_per_object"] = per(objects, *(cpu[one] for one in cluster.server))
            measured[f"{name}_objects_per_second"] = floor["objects_per_second"]
            measured[f"{name}_writer_cpu_us_per_object"] = floor["writer_cpu_us_per_object"]
            measured[f"share_of_{name}"] = round(measured["objects_per_second"] / floor["objects_per_second"], 3)
    return {"jobs": jobs, "replicas": replicas, **measured}


def costing(cluster: clusters.Cluster, work: Callable[..., Any], *arguments: Any) -> tuple[Any, dict[str, float]]:
    """What `work` returns, and the CPU that each process of the cluster spent meanwhile."""
    before = cluster.cpu_seconds()
    result = in_process(work, str(cluster.kubeconfig), *arguments)
    return result, {name: after - before[name] for name, after in cluster.cpu_seconds().items()}


def per(objects: int, *seconds: float) -> float:
    return round(sum(seconds) / objects * 1e6)


@asynccontextmanager
async def watched(client: Client, jobs: int, replicas: int) -> AsyncIterator[Watched]:
    """Everything the benchmark has to see; kept up in every run, so that it costs every run the same."""
    found = Watched()

    def pod_seen(_pod: PodView) -> None:
        found.pods += 1
        if found.pods == jobs * replicas:
            found.complete.set()

    def status_seen(_old: Job, new: Job) -> None:
        found.statuses += 1
        if new.status.pending == replicas:
            found.told.add(new.metadata.name)
            if len(found.told) == jobs:
                found.all_told.set()

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
    await make_queues(client)
    async with watched(client, jobs, replicas) as seen:
        admitters = [asyncio.create_task(admit(client, seen, jobs)) for _ in range(8)]
        before = await requests_so_far(path)
        started = time.perf_counter()

        async def submit(number: int) -> None:
            await client.create(resources.JOBS.untyped, document(number, replicas))

        failures = await each(range(jobs), submit)
        assert not failures, failures[0]
        await seen.complete.wait()
        elapsed = time.perf_counter() - started
        statuses = seen.statuses
        await asyncio.wait_for(seen.all_told.wait(), TOLD_SECONDS)
        calm = await at_rest(path)
        await asyncio.sleep(REST_SECONDS)
        after = writes(await requests_so_far(path))
        for task in admitters:
            task.cancel()
    own = 2 * jobs  # to submit each and to admit it
    return {
        "objects_per_second": round(jobs * (replicas + 1) / elapsed),
        "status_writes_per_job_meanwhile": round(statuses / jobs, 1),
        "status_writes_per_job": round(seen.statuses / jobs, 1),
        "writes_per_pod": round((calm - writes(before) - own) / (jobs * replicas), 2),
        "writes_at_rest": after - calm,
    }


async def at_rest(path: str) -> int:
    """The writes so far, once there have been none for a while: podgroups and queues follow the jobs."""
    count = -1
    while (now := writes(await requests_so_far(path))) != count:
        count = now
        await asyncio.sleep(CALM_SECONDS)
    return count


async def admit(client: Client, seen: Watched, wanted: int) -> None:
    while True:
        group = await seen.groups.get()
        await client.patch(resources.PODGROUPS, group.metadata.name, {"status": {"phase": "Inqueue"}}, NAMESPACE)
        seen.admitted += 1
        if seen.admitted == wanted:
            seen.all_admitted.set()


async def run_writer(path: str, jobs: int, replicas: int, others: bool) -> dict[str, Any]:
    """Post the podgroups and pods of the same jobs; with `others`, the jobs and the admissions too."""
    client = Client(HttpTransport(config.load(path)))
    await make_queues(client)
    bodies: list[tuple[Any, Any]] = []
    for number in range(jobs):
        group, pods = outcome(number, replicas)
        bodies.append((resources.PODGROUPS.untyped, group))
        bodies += [(POD_VIEWS, pod) for pod in pods]
        if others:
            bodies.append((resources.JOBS.untyped, document(number, replicas)))

    async def post(item: tuple[Any, Any]) -> None:
        await client.create(item[0], item[1], NAMESPACE)

    async with watched(client, jobs, replicas) as seen:
        admitters = [asyncio.create_task(admit(client, seen, jobs)) for _ in range(8 * others)]
        started, cpu_started = time.perf_counter(), time.process_time()
        failures = await each(bodies, post)
        assert not failures, failures[0]
        await seen.complete.wait()
        if others:
            await seen.all_admitted.wait()
        elapsed, spent = time.perf_counter() - started, time.process_time() - cpu_started
        for task in admitters:
            task.cancel()
    objects = jobs * (replicas + 1)
    return {"objects_per_second": round(objects / elapsed), "writer_cpu_us_per_object": per(objects, spent)}


if __name__ == "__main__":
    main()
