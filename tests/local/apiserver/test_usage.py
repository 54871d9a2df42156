"""What nodes and pods use: asked from the nodes, told as metrics.k8s.io."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.local.apiserver.api import PODS, api, pod
from volcano.http.message import Request, Response
from volcano.http.server import serve
from volcano.http.tls import server_context
from volcano.local.apiserver import certificates
from volcano.local.node.usage import MACHINE, sample

METRICS = "/apis/metrics.k8s.io/v1beta1"


def measured(nano_cores: int, memory_bytes: int) -> dict[str, Any]:
    cpu = {"time": "2026-01-01T00:00:00Z", "usageNanoCores": nano_cores}
    return {"cpu": cpu, "memory": {"workingSetBytes": memory_bytes}}


async def test_nodes_are_asked_and_pods_are_told_by_namespace_and_label(tmp_path: Path) -> None:
    asked: list[str] = []
    pki = certificates.ensure(tmp_path, ["127.0.0.1"])
    async with api() as call:
        made = await call.made(PODS, pod("p", labels={"a": "b"}))

        async def node(request: Request) -> Response:
            asked.append(request.path)
            container = {"name": "main", **measured(5_000_000, 4096)}
            reference = {"name": "p", "namespace": "default", "uid": made["metadata"]["uid"]}
            pods = [{"podRef": reference, "containers": [container]}]
            told = json.dumps({"node": {"nodeName": "n", **measured(10**9, 1024**2)}, "pods": pods})
            return Response(200, {"content-type": "application/json"}, told.encode())

        tls = server_context(pki.certificate("server"), pki.key("server"))
        async with await serve(node, ssl=tls) as server:
            endpoint = {"daemonEndpoints": {"kubeletEndpoint": {"Port": server.port}}}
            address = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
            await call.made("/api/v1/nodes", {"metadata": {"name": "n"}})
            await call.patch("/api/v1/nodes/n/status", {"status": endpoint | address})
            await call.made("/api/v1/nodes", {"metadata": {"name": "silent"}})

            nodes = await call.get(f"{METRICS}/nodes")
            assert [(item["metadata"]["name"], item["usage"]) for item in nodes.json["items"]] == [
                ("n", {"cpu": "1000000000n", "memory": "1024Ki"})
            ]
            mine = await call.get(f"{METRICS}/namespaces/default/pods", labelSelector="a=b")
            assert mine.json["items"][0]["containers"] == [
                {"name": "main", "usage": {"cpu": "5000000n", "memory": "4Ki"}}
            ]
            assert (await call.get(f"{METRICS}/namespaces/default/pods/p"))["kind"] == "PodMetrics"
            assert (await call.get(f"{METRICS}/namespaces/default/pods/q")).status == 404
            assert (await call.get(f"{METRICS}/namespaces/other/pods")).json["items"] == []
            assert (await call.delete(f"{METRICS}/nodes/n")).status == 405
            assert asked == ["/stats/summary"]


def test_a_process_tree_is_measured(tmp_path: Path) -> None:
    def process(pid: int, parent: int, ticks: int, pages: int) -> None:
        (tmp_path / str(pid)).mkdir()
        fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", "0", "0", *["0"] * 6, str(pages)]
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a (b) c) {' '.join(fields)}")

    process(1, 0, 7, 1)
    process(10, 1, 100, 2)
    process(11, 10, 50, 3)
    process(12, 11, 0, 4)
    (tmp_path / "stat").write_text("cpu 10 0 5 1000 20 0 1 0\n")
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable: 60 kB\n")

    seen = sample(tmp_path, {("u", "main"): 10})

    assert seen.cpu == {("u", "main"): 1_500_000_000, MACHINE: 160_000_000}
    assert seen.memory == {("u", "main"): 9 * 4096, MACHINE: 40 * 1024}
