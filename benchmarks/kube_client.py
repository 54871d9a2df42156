"""What talking to an API server costs a scheduler: CPU microseconds per bind, and per pod event through an informer.

    python -m benchmarks.kube_client [--binds 20000] [--events 50000]

The server side is a stub in another process, so that the figures are the client's alone. The floor of a bind is the
bare HTTP client posting the same bytes; the floor of an event is decoding its line. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import msgspec
import uvloop

from volcano.api.core import Pod
from volcano.api.resources import PODS
from volcano.http.client import Endpoint, HttpClient
from volcano.http.lifetime import settle_collector
from volcano.http.message import Request, Response
from volcano.http.server import serve
from volcano.kube.client import Client
from volcano.kube.config import ClusterConfig
from volcano.kube.informer import Informer
from volcano.kube.transport import HttpTransport

IN_FLIGHT = 32
STATUS = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'
BINDING = "/api/v1/namespaces/default/pods/{}/binding?fieldManager=volcano"


def pod(number: int) -> dict[str, Any]:
    """A pod as a real cluster stores it, about 3 kB."""
    container = {
        "name": "main",
        "image": "registry.example/team/image:1.2.3",
        "command": ["python", "-m", "train", "--epochs", "10"],
        "env": [{"name": f"VARIABLE_{index}", "value": "x" * 20} for index in range(15)],
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    fields = {f"f:field{index}": {"f:inner": {}} for index in range(30)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{number}",
            "namespace": "default",
            "uid": f"00000000-0000-0000-0000-{number:012}",
            "resourceVersion": str(number + 1),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "x", "volcano.sh/job-name": "job"},
            "annotations": {"scheduling.k8s.io/group-name": "group"},
            "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": fields}],
        },
        "spec": {"schedulerName": "volcano", "containers": [container], "tolerations": [{"operator": "Exists"}]},
        "status": {"phase": "Pending", "qosClass": "Guaranteed"},
    }


def pod_line(number: int) -> bytes:
    return msgspec.json.encode({"type": "ADDED", "object": pod(number)}) + b"\n"


class Stub:
    """Answers binds at once, and pod watches with prepared events after an empty initial list."""

    def __init__(self, events: int) -> None:
        self.lines = [pod_line(number) for number in range(events)]

    async def __call__(self, request: Request) -> Response:
        if request.param("watch"):
            return Response(200, {"content-type": "application/json"}, self._events())
        return Response(201, {"content-type": "application/json"}, STATUS)

    async def _events(self) -> AsyncIterator[bytes]:
        metadata = {"resourceVersion": "0", "annotations": {"k8s.io/initial-events-end": "true"}}
        yield msgspec.json.encode({"type": "BOOKMARK", "object": {"metadata": metadata}}) + b"\n"
        for line in self.lines:
            yield line
        await asyncio.Event().wait()


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def binds(port: int, count: int) -> None:
    client = Client(HttpTransport(ClusterConfig(f"http://127.0.0.1:{port}")))
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await client.bind("default", f"pod-{number}", "uid", "node-1")

    await asyncio.gather(*[work() for _ in range(IN_FLIGHT)])
    await client.close()


async def posts(port: int, count: int) -> None:
    client = HttpClient(Endpoint(port=port))
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await client.request("POST", BINDING.format(f"pod-{number}"), body=STATUS)

    await asyncio.gather(*[work() for _ in range(IN_FLIGHT)])
    await client.close()


async def follow(port: int, count: int) -> None:
    settle_collector()
    informer = Informer(Client(HttpTransport(ClusterConfig(f"http://127.0.0.1:{port}"))), PODS)
    task = asyncio.create_task(informer.run())
    while len(informer.store) < count:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    task.cancel()


def decode(count: int) -> float:
    """Microseconds to decode one event's object and keep it, without anything around it."""
    settle_collector()
    decoder = msgspec.json.Decoder(Pod)
    raw = [msgspec.json.encode(pod(number)) for number in range(count)]
    before = cpu()
    kept = [decoder.decode(each) for each in raw]
    used = cpu() - before
    assert len(kept) == count
    return used / count * 1e6


def server_process(events: int, pipe: Any) -> None:
    async def main() -> None:
        pipe.send((await serve(Stub(events))).port)
        await asyncio.Event().wait()

    uvloop.run(main())


def measure(work: Coroutine[Any, Any, None], count: int) -> dict[str, float]:
    before, started = cpu(), time.perf_counter()
    uvloop.run(work)
    used, seconds = cpu() - before, time.perf_counter() - started
    return {"cpu_us": round(used / count * 1e6, 1), "per_second": round(count / seconds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binds", type=int, default=20_000)
    parser.add_argument("--events", type=int, default=50_000)
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=server_process, args=(options.events, theirs))
    process.start()
    try:
        port = ours.recv()
        result = {
            "bind_floor": measure(posts(port, options.binds), options.binds),
            "bind": measure(binds(port, options.binds), options.binds),
            "event_floor_cpu_us": round(decode(options.events), 1),
            "event": measure(follow(port, options.events), options.events),
            "event_bytes": len(pod_line(1)),
            "max_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        }
    finally:
        process.terminate()
        process.join()
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
