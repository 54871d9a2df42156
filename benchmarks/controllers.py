"""The controllers under load: objects created per second, against a writer that only posts the same objects.

    python -m benchmarks.controllers [--jobs 20] [--replicas 500] [--small-jobs 1000]

API server and vc-controller-manager are processes of their own, over TLS; scheduler and nodes are off. One process
admits every podgroup as soon as it appears and does nothing else. The floor posts the podgroups and pods of the same
jobs, 64 requests in flight. Prints JSON.
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
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
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
REST_SECONDS = 3.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--replicas", type=int, default=500)
    parser.add_argument("--small-jobs", type=int, default=1000)
    arguments = parser.parse_args()
    result = {
        "large_jobs": compare(arguments.jobs, arguments.replicas),
        "small_jobs": compare(arguments.small_jobs, 1),
    }
    print(json.dumps(result, indent=2))


def compare(jobs: int, replicas: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder:
        with api_server(Path(folder) / "jobs") as (path, _), controllers(path) as pid:
            time.sleep(START_SECONDS)
            before = cpu_seconds(pid)
            measured = in_process(run_jobs, str(path), jobs, replicas)
            spent = cpu_seconds(pid) - before
            measured["controllers_cpu_us_per_pod"] = round(spent / (jobs * replicas) * 1e6, 1)
            measured["controllers_pss_mib"] = round(pss_mib(pid), 1)
        with api_server(Path(folder) / "floor") as (path, _):
            floor = in_process(run_writer, str(path), jobs, replicas)
    measured["floor_objects_per_second"] = floor["objects_per_second"]
    measured["share_of_floor"] = round(measured["objects_per_second"] / floor["objects_per_second"], 3)
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


async def run_jobs(path: str, jobs: int, replicas: int) -> dict[str, Any]:
    """Submit all jobs at once and wait until every podgroup and pod exists."""
    client = Client(HttpTransport(config.load(path)))
    await make_queue(client)
    groups: asyncio.Queue[PodGroup] = asyncio.Queue()
    seen, complete = Counter[str](), asyncio.Event()

    def pod_seen(_pod: PodView) -> None:
        seen["pods"] += 1
        if seen["pods"] == jobs * replicas:
            complete.set()

    watched = [
        Informer(client, resources.PODGROUPS, handler=Callbacks(groups.put_nowait)),
        Informer(client, POD_VIEWS, handler=Callbacks(pod_seen)),
        Informer(client, resources.JOBS, handler=Callbacks(None, lambda _old, _new: seen.update(["statuses"]))),
    ]
    tasks = [asyncio.create_task(informer.run()) for informer in watched]
    tasks += [asyncio.create_task(admit(client, groups)) for _ in range(8)]
    for informer in watched:
        await informer.synced()
    started = time.perf_counter()

    async def submit(number: int) -> None:
        await client.create(resources.JOBS.untyped, document(number, replicas))

    failures = await each(range(jobs), submit)
    assert not failures, failures[0]
    await complete.wait()
    elapsed = time.perf_counter() - started
    await asyncio.sleep(REST_SECONDS)
    before = (await client.list(resources.JOBS, NAMESPACE)).resource_version
    await asyncio.sleep(REST_SECONDS)
    after = (await client.list(resources.JOBS, NAMESPACE)).resource_version
    for task in tasks:
        task.cancel()
    return {
        "objects_per_second": round(jobs * (replicas + 1) / elapsed),
        "status_writes_per_job": round(seen["statuses"] / jobs, 1),
        "writes_at_rest": int(after) - int(before),
    }


async def admit(client: Client, groups: asyncio.Queue[PodGroup]) -> None:
    while True:
        group = await groups.get()
        await client.patch(resources.PODGROUPS, group.metadata.name, {"status": {"phase": "Inqueue"}}, NAMESPACE)


async def run_writer(path: str, jobs: int, replicas: int) -> dict[str, Any]:
    """Post the podgroups and pods of the same jobs."""
    client = Client(HttpTransport(config.load(path)))
    await make_queue(client)
    wanted: list[tuple[Any, Any]] = []
    for number in range(jobs):
        job = msgspec.convert(document(number, replicas), Job)
        job.metadata.uid = f"00000000-0000-4000-8000-{number:012}"
        group = podgroup.build(job, {})
        mould = pods.mould(job, job.spec.tasks[0], builtin_plugins())
        bodies = [mould.body(index) for index in range(replicas)]
        wanted.append((resources.PODGROUPS.untyped, group))
        wanted += [(POD_VIEWS, msgspec.Raw(body)) for body in bodies]
    started = time.perf_counter()

    async def post(item: tuple[Any, Any]) -> None:
        await client.create(item[0], item[1], NAMESPACE)

    failures = await each(wanted, post)
    assert not failures, failures[0]
    return {"objects_per_second": round(len(wanted) / (time.perf_counter() - started))}


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
