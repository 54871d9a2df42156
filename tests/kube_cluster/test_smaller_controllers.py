"""Controllers that look at nodes, beside 500 simulated ones: domains (by a daemon of its own), shards, colocation."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.kube_cluster import bare, chart, control_plane, volcano
from tests.kube_cluster.programs import free_ports
from tests.waiting import until
from volcano.api import keys, resources
from volcano.controllers.fanout import each
from volcano.controllers.hypernode.config import KEY
from volcano.kube.errors import AlreadyExists

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.bare import Server
    from volcano.api.shard import NodeShard
    from volcano.kube.client import Client

pytestmark = pytest.mark.xdist_group("hypernodes")

NODES, IN_RACK, IN_HALL = 500, 10, 250
MANY_SECONDS = 180.0
"""Five hundred objects are written and read by several processes: a share of a second each on a busy machine."""
EXPECTED = {(1, IN_RACK, IN_RACK): NODES // IN_RACK, (2, IN_HALL // IN_RACK, IN_HALL): NODES // IN_HALL}
"""How many domains there are of each tier, with so many members and so many nodes."""
SHARDS = {"volcano": 100, "agent-scheduler": 0}
CONFIGURATION = """
networkTopologyDiscovery:
- source: label
  enabled: true
  config:
    networkTopologyTypes:
      hall: [{nodeLabel: example.com/hall}, {nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]
"""


ACCOUNTS = {
    "vc-hypernode-controller-manager": "volcano-hypernode-controller",
    "vc-controller-manager": "volcano-controllers",
}
OPTIONS = (
    *("--set", "custom.hypernode_controller_mode=standalone"),
    *("--set", "custom.sharding_configmap_enable=true", "--set", "custom.sharding_configmap_data=schedulerConfigs: []"),
)
"""The values of the chart with which these two run."""


@pytest.fixture(scope="module", params=["local", pytest.param("kube", marks=pytest.mark.kube)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server with the nodes, and the controller that waits for its configuration."""
    if request.param == "kube" and (why := control_plane.absence()):
        pytest.skip(why)
    root = tmp_path_factory.mktemp(request.param)
    for server in bare.kube(root) if request.param == "kube" else bare.local(root):
        volcano.start_simulated_nodes(root, server.programs, server.address, NODES)
        if request.param == "kube":
            chart.install_accounts(server.address, *OPTIONS)
        start(server, "vc-hypernode-controller-manager", "volcano.controllers.hypernode.standalone")
        others = "--controllers=sharding-controller,colocation-config-controller"
        start(server, "vc-controller-manager", "volcano.controllers.manager", others)
        yield server


def start(server: Server, name: str, module: str, *flags: str) -> None:
    [health] = free_ports(1)
    address = f"127.0.0.1:{health}"
    common = [
        f"--kubeconfig={chart.kubeconfig_of(server.address, ACCOUNTS[name])}",
        f"--healthz-address={address}",
        "--leader-elect=false",
    ]
    server.programs.start(name, [sys.executable, "-m", module, *common, "--enable-metrics=false", *flags])
    server.programs.await_ready(name, lambda: volcano.answers(f"http://{address}/readyz"))


def test_five_hundred_simulated_nodes(server: Server) -> None:
    async def main() -> None:
        async with server.address.connected() as client:
            await label(client)
            await configure(client)
            began = time.monotonic()

            await until(lambda: are_counted(client), MANY_SECONDS)

            print(f"{NODES} nodes: all domains after {time.monotonic() - began:.1f} s")

    asyncio.run(main())


async def label(client: Client) -> None:
    nodes: list[str] = []

    async def are_there() -> bool:
        nonlocal nodes
        nodes = sorted(node.metadata.name for node in (await client.list(resources.NODES)).items)
        return len(nodes) == NODES

    await until(are_there, MANY_SECONDS)

    async def mark(entry: tuple[int, str]) -> None:
        index, name = entry
        labels = {"example.com/rack": f"r{index // IN_RACK}", "example.com/hall": f"h{index // IN_HALL}"}
        await client.patch(resources.NODES.untyped, name, {"metadata": {"labels": labels}})

    async def are_marked() -> bool:
        """A busy server may not take all connections at once."""
        return await each(list(enumerate(nodes)), mark) == []

    await until(are_marked, MANY_SECONDS)


async def configure(client: Client) -> None:
    if await missing(client, volcano.NAMESPACE):
        await client.create(resources.NAMESPACES.untyped, {"metadata": {"name": volcano.NAMESPACE}})
    meta = {"name": "volcano-controller-configmap", "namespace": volcano.NAMESPACE}
    await client.create(resources.CONFIGMAPS.untyped, {"metadata": meta, "data": {KEY: CONFIGURATION}})


async def missing(client: Client, namespace: str) -> bool:
    names = {item.metadata.name for item in (await client.list(resources.NAMESPACES)).items}
    return namespace not in names


async def are_counted(client: Client) -> bool:
    """There are all domains, and each has the nodes that it should; else what there is, for `until` to tell."""
    found = Counter(
        (domain.spec.tier, len(domain.spec.members), domain.status.node_count)
        for domain in (await client.list(resources.HYPERNODES)).items
    )
    if found != EXPECTED:
        raise LookupError(f"domains by (tier, members, nodes): {dict(found)}, and not {EXPECTED}")
    return True


def test_shards_of_five_hundred_nodes(server: Server) -> None:
    """By the default flags: two shards, of a hundred nodes at most; idle ones are the batch scheduler's."""

    async def main() -> None:
        async with server.address.connected() as client:
            await until(lambda: have_sizes(client))
            first = (await shards(client))["volcano"].spec.nodes_desired[0]
            used = {"status": {"nodesInUse": [first, "gone"]}}
            await client.patch(resources.NODE_SHARDS.untyped, "volcano", used, subresource="status")
            await until(lambda: gives_up(client, "gone"))
            assert first not in (await shards(client))["volcano"].status.nodes_to_add

    asyncio.run(main())


async def have_sizes(client: Client) -> bool:
    """Every shard has as many nodes as it should, and its scheduler was told to take them."""
    found = await shards(client)
    sizes = {name: (len(one.spec.nodes_desired), len(one.status.nodes_to_add)) for name, one in found.items()}
    return sizes == {name: (size, size) for name, size in SHARDS.items()}


async def gives_up(client: Client, node: str) -> bool:
    return (await shards(client))["volcano"].status.nodes_to_remove == [node]


async def shards(client: Client) -> dict[str, NodeShard]:
    return {shard.metadata.name: shard for shard in (await client.list(resources.NODE_SHARDS)).items}


def test_colocation_settings_reach_pods_and_leave_them(server: Server) -> None:
    pod = {"metadata": {"name": "p", "labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "memoryQos": {"highRatio": 50}}

    async def main() -> None:
        async with server.address.connected() as client:
            with suppress(AlreadyExists):
                await client.create(resources.SERVICE_ACCOUNTS.untyped, {"metadata": {"name": "default"}}, "default")
            await client.create(resources.PODS.untyped, pod, "default")
            kind = resources.COLOCATION_CONFIGURATIONS.untyped
            await client.create(kind, {"metadata": {"name": "c"}, "spec": spec}, "default")
            await until(lambda: has_settings(client, '{"memoryQos":{"highRatio":50}}'))
            await client.delete(kind, "c", "default")
            await until(lambda: has_settings(client, "{}"))

    asyncio.run(main())


async def has_settings(client: Client, wanted: str) -> bool:
    pod = await client.get(resources.PODS, "p", "default")
    return pod.metadata.annotations.get(keys.COLOCATION_CONFIG) == wanted
