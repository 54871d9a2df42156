"""The scheduler starts on a large cluster: how long until its first bind, beside a client that lists the same objects.

    python -m benchmarks.cold_start [--nodes 5000] [--pods 30000] [--kubernetes]

One pod waits while the nodes are full of running ones. The API server is local mode's, or with --kubernetes the one
that `make kube` builds. The floor is a client that fetches and decodes all nodes and pods. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
from tests.kube_cluster import control_plane
from tests.kube_cluster.programs import free_ports

from benchmarks.rig import clusters, population
from benchmarks.rig.processes import in_process
from benchmarks.worlds import documents
from volcano.api.resources import NODES, PODS
from volcano.http.lifetime import collector_at_rest
from volcano.kube import config
from volcano.kube.transport import HttpTransport

PATIENCE_SECONDS = 300.0
LIMIT_RATIO = 2.5
LIMIT_MIB = 600
WAITING = "newcomer"
"""The job whose only pod waits."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=30_000)
    parser.add_argument("--kubernetes", action="store_true", help="Kubernetes' API server instead of local mode's")
    options = parser.parse_args()
    if options.kubernetes and (why := control_plane.absence()):
        print(json.dumps({"skipped": why}))
        return 0
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder:
        root = Path(folder) / "rig"
        rig = clusters.kubernetes(root, controllers=False) if options.kubernetes else clusters.local(root)
        with rig as cluster:
            path = str(cluster.kubeconfig)
            in_process(population.populate, path, options.nodes, options.pods)
            in_process(population.submit, path, 1, 1, WAITING)
            floor = min(in_process(listed, path)["seconds"] for _ in range(2))
            result = start_scheduler(cluster)
    result["floor_seconds"] = round(floor, 3)
    result["ratio"] = round(result["bound_after_seconds"] / floor, 2)
    print(json.dumps(result | {"limit_ratio": LIMIT_RATIO, "limit_mib": LIMIT_MIB}, indent=2))
    return 0


def start_scheduler(cluster: clusters.Cluster) -> dict[str, Any]:
    """When it has bound the waiting pod, when it calls itself ready, and what it took."""
    port = free_ports(1)[0]
    before = cluster.cpu_seconds()
    began = time.monotonic()
    cluster.start(
        "vc-scheduler",
        "volcano.scheduler.daemon.main",
        "--leader-elect=false",
        f"--healthz-address=127.0.0.1:{port}",
        "--listen-address=127.0.0.1:0",
    )
    asyncio.run(bound(str(cluster.kubeconfig)))
    bound_after = time.monotonic() - began
    while not is_ready(f"http://127.0.0.1:{port}/readyz"):
        time.sleep(0.01)
    ready_after = time.monotonic() - began
    spent = cluster.cpu_seconds()
    return {
        "bound_after_seconds": round(bound_after, 3),
        "ready_after_seconds": round(ready_after, 3),
        "cpu_seconds": {name: round(value - before.get(name, 0.0), 2) for name, value in spent.items()},
        "peak_mib": cluster.peak_mib()["vc-scheduler"],
    }


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


async def bound(path: str) -> None:
    """Until the waiting pod has a node."""
    client = population.connect(path)
    selector = f"metadata.name={WAITING}-0-worker-0"
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        aclosing(client.watch(PODS, population.NAMESPACE, None, selector)) as events,
    ):
        async for event in events:
            if event.type != "BOOKMARK" and event.object.spec.node_name:
                break
    await client.close()


async def listed(path: str) -> dict[str, Any]:
    """Fetch all nodes and pods page by page, decode the JSON and keep nothing: no client can do with less."""
    transport = HttpTransport(config.load(path))
    began = time.monotonic()
    with collector_at_rest():
        for resource in (NODES, PODS):
            following = ""
            while True:
                query = [("limit", str(documents.PAGE)), *([("continue", following)] if following else [])]
                page = msgspec.json.decode((await transport.request("GET", resource.path(), query=query)).content)
                following = page["metadata"].get("continue", "")
                if not following:
                    break
    seconds = time.monotonic() - began
    await transport.close()
    return {"seconds": seconds}


if __name__ == "__main__":
    sys.exit(main())
