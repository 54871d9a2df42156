"""What a cluster at rest costs: running jobs, nobody wants anything. Writes in a minute, CPU of each daemon.

    python -m benchmarks.idle [--jobs 1000] [--nodes 100] [--seconds 60] [--only local|kubernetes]

All daemons run as processes of their own beside local mode's API server, and beside Kubernetes' own with its
controllers (where `make kube` has built them). Leases and what nodes write do not count. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.kube_cluster import control_plane

from benchmarks.cluster import ADMISSION, Load, submit
from benchmarks.rig import clusters
from benchmarks.rig.processes import in_process, pss_mib
from benchmarks.rig.requests import is_write, requests_so_far

SETTLE_SECONDS = 30.0
DAEMONS = ("vc-scheduler", "vc-controller-manager", "vc-webhook-manager")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", choices=("local", "kubernetes"))
    arguments = parser.parse_args()
    load = Load("vcjobs", arguments.jobs, 1, arguments.nodes)
    result: dict[str, Any] = {}
    for name, make in (("local", clusters.local), ("kubernetes", clusters.kubernetes)):
        if arguments.only not in (None, name):
            continue
        if name == "kubernetes" and (why := control_plane.absence()):
            result[name] = {"skipped": why}
            continue
        with tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder, make(Path(folder)) as cluster:
            result[name] = at_rest(cluster, load, arguments.seconds)
    print(json.dumps(result, indent=2))


def at_rest(cluster: clusters.Cluster, load: Load, seconds: float) -> dict[str, Any]:
    cluster.make_account()
    cluster.start_nodes(load.nodes)
    cluster.start_webhooks(f"--enabled-admission={ADMISSION}")
    cluster.start_scheduler()
    cluster.start_controllers()
    in_process(submit, str(cluster.kubeconfig), load)
    time.sleep(SETTLE_SECONDS)
    before, cpu = asyncio.run(requests_so_far(cluster.kubeconfig)), cluster.cpu_seconds()
    time.sleep(seconds)
    spent = {name: used - cpu[name] for name, used in cluster.cpu_seconds().items()}
    asked = asyncio.run(requests_so_far(cluster.kubeconfig)) - before
    writes = Counter({what: count for what, count in asked.items() if is_write(what)})
    return {
        "running_jobs": load.jobs,
        "seconds": seconds,
        "writes": dict(writes.most_common()),
        "others": dict((asked - writes).most_common()),
        "cpu_percent": {name: round(100 * used / seconds, 2) for name, used in spent.items()},
        "pss_mib": {name: round(pss_mib(cluster.pid(name)), 1) for name in DAEMONS},
    }


if __name__ == "__main__":
    main()
