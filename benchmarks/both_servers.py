"""The same pods on Kubernetes' own API server and on local mode's: creates and events per second, CPU for each write.

    python -m benchmarks.both_servers [--pods 5000] [--clients 16] [--watchers 10]

Needs the programs that `make kube` builds; says so and measures nothing where they are absent. etcd's CPU counts as the
real server's, and etcd does not wait for the disk. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from tests.kube_cluster import control_plane

from benchmarks.apiserver import load
from benchmarks.rig import clusters
from benchmarks.rig.processes import cpu_seconds, in_process, pss_mib


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=5_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--watchers", type=int, default=10)
    arguments = parser.parse_args()
    if why := control_plane.absence():
        print(json.dumps({"skipped": why}))
        return
    wanted = (arguments.pods, arguments.clients, arguments.watchers)
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder:
        with clusters.local(Path(folder) / "local") as cluster:
            ours = measured(cluster, wanted)
        with clusters.kubernetes(Path(folder) / "kube", controllers=False) as cluster:
            cluster.make_account()
            real = measured(cluster, wanted)
    ratio = ours["server_cpu_us_per_create"] / real["server_cpu_us_per_create"]
    print(json.dumps({"local": ours, "kubernetes": real, "cpu_ratio": round(ratio, 3)}, indent=2))


def measured(cluster: clusters.Cluster, wanted: tuple[int, int, int]) -> dict[str, Any]:
    """The workload on one server, and what it cost the server's processes."""
    pids = [cluster.pid(name) for name in cluster.server]
    before = sum(map(cpu_seconds, pids))
    found = in_process(load, str(cluster.kubeconfig), *wanted)
    spent = sum(map(cpu_seconds, pids)) - before
    found["server_cpu_us_per_create"] = round(spent / wanted[0] * 1e6, 1)
    found["server_pss_mib"] = round(sum(map(pss_mib, pids)), 1)
    return found


if __name__ == "__main__":
    main()
