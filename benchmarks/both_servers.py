"""The same pods on Kubernetes' own API server and on local mode's: creates and events per second, CPU for each write.

    python -m benchmarks.both_servers [--pods 5000] [--clients 16] [--watchers 10]

Needs the programs that `make kube` builds; says so and measures nothing where they are absent. etcd's CPU counts as the
real server's, and etcd does not wait for the disk. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from tests.kube_cluster import control_plane
from tests.kube_cluster.programs import Programs

from benchmarks.apiserver import HEADERS, api_server, cpu_seconds, in_process, load, pss_mib
from volcano.kube import config
from volcano.kube.transport import HttpTransport

ACCOUNT = b'{"metadata":{"name":"default"},"automountServiceAccountToken":false}'
SERVER = ("etcd", "kube-apiserver")


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
        with api_server(Path(folder) / "local") as (path, pid):
            ours = measured(path, [pid], wanted)
        real = on_kubernetes(Path(folder) / "kube", wanted)
    ratio = ours["server_cpu_us_per_create"] / real["server_cpu_us_per_create"]
    print(json.dumps({"local": ours, "kubernetes": real, "cpu_ratio": round(ratio, 3)}, indent=2))


def on_kubernetes(root: Path, wanted: tuple[int, int, int]) -> dict[str, Any]:
    programs = Programs(root / "logs")
    try:
        address = control_plane.start(root, programs, controllers=False)
        asyncio.run(make_account(address.kubeconfig))
        return measured(address.kubeconfig, [programs.process_id(name) for name in SERVER], wanted)
    finally:
        programs.stop_all()


async def make_account(kubeconfig: Path) -> None:
    transport = HttpTransport(config.load(str(kubeconfig)))
    await transport.request(
        "POST", "/api/v1/namespaces/default/serviceaccounts", headers=HEADERS, body=ACCOUNT, timeout=10
    )
    await transport.close()


def measured(kubeconfig: Path, pids: list[int], wanted: tuple[int, int, int]) -> dict[str, Any]:
    """The workload on one server, and what it cost the server's processes."""
    before = sum(map(cpu_seconds, pids))
    found = in_process(load, str(kubeconfig), *wanted)
    spent = sum(map(cpu_seconds, pids)) - before
    found["server_cpu_us_per_create"] = round(spent / wanted[0] * 1e6, 1)
    found["server_pss_mib"] = round(sum(map(pss_mib, pids)), 1)
    return found


if __name__ == "__main__":
    main()
