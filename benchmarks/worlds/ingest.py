"""Takes lists of JSON documents into a cluster, in a process of its own: `python -m benchmarks.worlds.ingest FOLDER`.

The folder holds one file per page, named `PLURAL-NUMBER`. Prints CPU seconds and peak memory as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.worlds import documents
from volcano.api import resources
from volcano.http.lifetime import collector_at_rest
from volcano.http.message import Response
from volcano.kube.codec import Codec
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import ADDED, Ingest
from volcano.scheduler.daemon.view import PODS_IN_VIEW

KINDS = (resources.QUEUES, resources.NODES, resources.PODGROUPS, PODS_IN_VIEW)


def write(folder: Path, nodes: int, pods: int) -> None:
    lists = {
        "queues": [documents.queue("default")],
        "nodes": (documents.node(i) for i in range(nodes)),
        "podgroups": (documents.pod_group(f"job-{i}", i) for i in range(pods // documents.JOB_SIZE)),
        "pods": (documents.running_pod(i, nodes) for i in range(pods)),
    }
    for plural, items in lists.items():
        for number, page in enumerate(documents.pages(items)):
            (folder / f"{plural}-{number:05}").write_bytes(page)


def decoded(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    """Page by page, what a client makes of it."""
    for resource in KINDS:
        codec: Codec[Any] = Codec(resource)
        for path in sorted(folder.glob(f"{resource.plural}-*")):
            yield resource.plural, codec.decode_list(Response(200, {}, path.read_bytes()))[0].items


def main() -> None:
    folder = Path(sys.argv[1])
    began = time.process_time()
    for _ in decoded(folder):
        pass
    decoding = time.process_time() - began
    cluster = Cluster()
    ingest = Ingest(cluster, ["volcano"])
    began = time.process_time()
    with collector_at_rest():
        for plural, items in decoded(folder):
            for item in items:
                ingest.apply(ADDED, plural, item)
    result = {
        "nodes": len(cluster.nodes),
        "pods": len(cluster.tasks),
        "cpu_seconds": round(time.process_time() - began, 3),
        "floor_seconds": round(decoding, 3),
        "peak_mib": peak_mib(),
    }
    print(json.dumps(result))


def peak_mib() -> int:
    """Of this very program: `getrusage` would count its parent's memory, too."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


if __name__ == "__main__":
    main()
