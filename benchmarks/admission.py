"""Admission of jobs by vc-webhook-manager: time of service, and time on the wall under many creates at once.

    python -m benchmarks.admission [--alone 2000] [--creates 10000] [--at-once 200] [--kubernetes]

API server and vc-webhook-manager are processes of their own; reviews go over TLS as the API server sends them, mutate
and then validate for each job. `alone` asks one at a time: nothing waits. With `--kubernetes`, kube-apiserver asks as
jobs are created: times of the creates, and of the webhooks as it measures them. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import ssl
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.rig import clusters
from benchmarks.rig.jobs import document, make_queues
from benchmarks.rig.processes import cpu_seconds, in_process
from volcano.api.resources import JOBS
from volcano.http.client import Endpoint, HttpClient
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.errors import ApiError
from volcano.kube.transport import HttpTransport

PATHS = ("/jobs/mutate", "/jobs/validate")
TIMEOUT_SECONDS = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alone", type=int, default=2000)
    parser.add_argument("--creates", type=int, default=10_000)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--kubernetes", action="store_true", help="create jobs in kube-apiserver")
    arguments = parser.parse_args()
    if arguments.kubernetes:
        print(json.dumps(through_kubernetes(arguments.creates, arguments.at_once), indent=2))
        return
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder, clusters.local(Path(folder)) as cluster:
        in_process(prepare, str(cluster.kubeconfig))
        port = cluster.start_webhooks(f"--enabled-admission={','.join(PATHS)}")
        alone = in_process(ask, port, arguments.alone, 1)
        pid = cluster.pid("vc-webhook-manager")
        before = cpu_seconds(pid)
        together = in_process(ask, port, arguments.creates, arguments.at_once)
        spent = cpu_seconds(pid) - before
    together["cpu_us_per_create"] = round(spent / arguments.creates * 1e6)
    print(json.dumps({"alone": alone, "together": {"at_once": arguments.at_once, **together}}, indent=2))


def through_kubernetes(creates: int, at_once: int) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder,
        clusters.kubernetes(Path(folder), controllers=False) as cluster,
    ):
        in_process(prepare, str(cluster.kubeconfig))
        cluster.start_webhooks(f"--enabled-admission={','.join(PATHS)}")
        before = cluster.cpu_seconds()
        found = in_process(create, str(cluster.kubeconfig), creates, at_once)
        spent = {name: seconds - before[name] for name, seconds in cluster.cpu_seconds().items()}
        return {**found, "cpu_us_per_create": {name: round(used / creates * 1e6) for name, used in spent.items()}}


async def create(path: str, creates: int, at_once: int) -> dict[str, Any]:
    """Create jobs, `at_once` at a time; times in milliseconds, those of the webhooks as shares within a bound."""
    client = Client(HttpTransport(config.load(path)))
    numbers, times, failures = iter(range(creates)), list[float](), Counter[str]()

    async def work() -> None:
        for number in numbers:
            started = time.perf_counter()
            try:
                await client.create(JOBS.untyped, document(number, 2), "default")
            except ApiError as error:
                failures[error.message[:120]] += 1
            times.append((time.perf_counter() - started) * 1e3)

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(at_once)))
    elapsed = time.perf_counter() - started
    metrics = (await client.raw("GET", "/metrics")).body
    await client.close()
    return {
        **summary(times, elapsed),
        "failures": dict(failures),
        "webhooks": {name: within(metrics.decode(), name) for name in ("mutatejob", "validatejob")},
    }


def within(metrics: str, webhook: str) -> dict[str, float]:
    """The share of a webhook's answers that kube-apiserver had within each bound (seconds)."""
    pattern = (
        rf'^apiserver_admission_webhook_admission_duration_seconds_bucket{{.*name="{webhook}.*le="([^"]+)"}} (\d+)'
    )
    found = {bound: int(count) for bound, count in re.findall(pattern, metrics, re.MULTILINE)}
    return {bound: round(count / found["+Inf"], 4) for bound, count in found.items()}


async def prepare(path: str) -> dict[str, Any]:
    client = Client(HttpTransport(config.load(path)))
    await make_queues(client)
    await client.close()
    return {}


async def ask(port: int, creates: int, at_once: int) -> dict[str, Any]:
    """Send the reviews of `creates` jobs, `at_once` at a time; times in milliseconds."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    json_body = [("content-type", "application/json")]
    client = HttpClient(Endpoint("127.0.0.1", port, ssl=context), headers=json_body, max_connections=at_once)
    numbers = iter(range(creates))
    times: list[float] = []
    late = 0

    async def work() -> None:
        nonlocal late
        for number in numbers:
            started = time.perf_counter()
            try:
                for path in PATHS:
                    answer = await client.request("POST", path, body=review(number), timeout=TIMEOUT_SECONDS)
                    response = json.loads(answer.body)["response"]
                    assert response["allowed"], response
            except TimeoutError:
                late += 1
            times.append((time.perf_counter() - started) * 1e3)

    await client.request("POST", PATHS[0], body=review(0))
    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(at_once)))
    elapsed = time.perf_counter() - started
    await client.close()
    return {**summary(times, elapsed), "timeouts": late}


def summary(times: list[float], elapsed: float) -> dict[str, Any]:
    times.sort()
    return {
        "p50_ms": round(times[len(times) // 2], 2),
        "p99_ms": round(times[len(times) * 99 // 100], 2),
        "creates_per_second": round(len(times) / elapsed),
    }


def review(number: int) -> bytes:
    body = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": f"00000000-0000-4000-8000-{number:012}",
            "operation": "CREATE",
            "kind": {"group": "batch.volcano.sh", "version": "v1alpha1", "kind": "Job"},
            "resource": {"group": "batch.volcano.sh", "version": "v1alpha1", "resource": "jobs"},
            "namespace": "default",
            "name": f"job-{number}",
            "object": document(number, 2),
        },
    }
    return json.dumps(body).encode()


if __name__ == "__main__":
    main()
