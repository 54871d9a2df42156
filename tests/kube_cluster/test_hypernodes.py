"""Domains of 500 simulated nodes, discovered from their labels by the hypernode controller's own daemon."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.kube_cluster import bare, control_plane, volcano
from tests.kube_cluster.programs import free_ports
from volcano.api import resources
from volcano.controllers.fanout import each
from volcano.controllers.hypernode.config import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.bare import Server
    from volcano.kube.client import Client

pytestmark = pytest.mark.xdist_group("hypernodes")

NODES, IN_RACK, IN_HALL = 500, 10, 250
EXPECTED = ({1: {IN_RACK}, 2: {IN_HALL}}, NODES // IN_RACK + NODES // IN_HALL)
SECONDS = 15.0
"""from the configuration to the last count, on two cores beside everything else; quiet it takes one on local mode"""
CONFIGURATION = """
networkTopologyDiscovery:
- source: label
  enabled: true
  config:
    networkTopologyTypes:
      hall: [{nodeLabel: example.com/hall}, {nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]
"""


@pytest.fixture(scope="module", params=["local", pytest.param("kube", marks=pytest.mark.kube)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server with the nodes, and the controller that waits for its configuration."""
    if request.param == "kube" and (why := control_plane.absence()):
        pytest.skip(why)
    root = tmp_path_factory.mktemp(request.param)
    for server in bare.kube(root) if request.param == "kube" else bare.local(root):
        volcano.start_simulated_nodes(root, server.programs, server.address, NODES)
        start_controller(server)
        yield server


def start_controller(server: Server) -> None:
    [health] = free_ports(1)
    command = [sys.executable, "-m", "volcano.controllers.hypernode.standalone", "--enable-metrics=false"]
    name, address = "vc-hypernode-controller-manager", f"127.0.0.1:{health}"
    flags = [f"--kubeconfig={server.address.kubeconfig}", f"--healthz-address={address}", "--leader-elect=false"]
    server.programs.start(name, [*command, *flags])
    server.programs.await_ready(name, lambda: volcano.answers(f"http://{address}/readyz"))


def test_five_hundred_simulated_nodes(server: Server) -> None:
    async def main() -> None:
        async with server.address.connected() as client:
            await label(client)
            await configure(client)
            began = time.monotonic()

            async with asyncio.timeout(SECONDS):
                while await counts(client) != EXPECTED:  # noqa: ASYNC110 - the API server tells nobody
                    await asyncio.sleep(0.05)

            print(f"{NODES} nodes: all domains after {time.monotonic() - began:.1f} s")

    asyncio.run(main())


async def label(client: Client) -> None:
    nodes: list[str] = []
    async with asyncio.timeout(60):
        while len(nodes) < NODES:
            nodes = sorted(node.metadata.name for node in (await client.list(resources.NODES)).items)
            await asyncio.sleep(0.1)

    async def mark(entry: tuple[int, str]) -> None:
        index, name = entry
        labels = {"example.com/rack": f"r{index // IN_RACK}", "example.com/hall": f"h{index // IN_HALL}"}
        await client.patch(resources.NODES.untyped, name, {"metadata": {"labels": labels}})

    assert await each(list(enumerate(nodes)), mark) == []


async def configure(client: Client) -> None:
    if await missing(client, volcano.NAMESPACE):
        await client.create(resources.NAMESPACES.untyped, {"metadata": {"name": volcano.NAMESPACE}})
    meta = {"name": "volcano-controller-configmap", "namespace": volcano.NAMESPACE}
    await client.create(resources.CONFIGMAPS.untyped, {"metadata": meta, "data": {KEY: CONFIGURATION}})


async def missing(client: Client, namespace: str) -> bool:
    names = {item.metadata.name for item in (await client.list(resources.NAMESPACES)).items}
    return namespace not in names


async def counts(client: Client) -> tuple[dict[int, set[int]], int]:
    """The numbers of nodes that the domains of each tier have, and how many domains there are."""
    found: dict[int, set[int]] = {}
    domains = (await client.list(resources.HYPERNODES)).items
    for domain in domains:
        found.setdefault(domain.spec.tier, set()).add(domain.status.node_count)
    return found, len(domains)
