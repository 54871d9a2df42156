"""The node agent on Kubernetes' own API server, with no more rights than the chart gives its account."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.agent.world import BATCH_CPU, NODE, World, beside
from tests.docs.blocks import ROOT, blocks
from tests.kube_cluster import chart, control_plane
from tests.waiting import until
from volcano.api import keys, resources
from volcano.api.meta import JsonObject
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.transport import HttpTransport

if TYPE_CHECKING:
    from tests.kube_cluster.control_plane import Address

ACCOUNT = "volcano-agent"
pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("charts"),
    pytest.mark.skipif(bool(control_plane.absence()), reason=control_plane.absence() or "there is Helm"),
]


def client_of(kubeconfig: Path) -> Client:
    return Client(HttpTransport(config.load(str(kubeconfig))))


def install(address: Address) -> None:
    """The agent's part of the chart, in the namespace the world's agent is in, and a kubeconfig for its account."""
    documents = [
        document
        for document in chart.parts("--set", "custom.colocation_enable=true", "--namespace", "default")
        if document["metadata"]["name"] == ACCOUNT and document["kind"] not in chart.LEFT_OUT
    ]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}
    chart.apply(address.kubeconfig, [account, *documents])
    chart.write_kubeconfig(address, ACCOUNT, chart.token(address, ACCOUNT, "default"))


def test_the_command_of_the_page_installs_it() -> None:
    [block] = [block for block in blocks(ROOT / "docs" / "agent.md") if block.language == "sh"]
    command = shlex.split(block.text.splitlines()[0].rstrip("\\") + block.text.splitlines()[1])
    settings = command[command.index("--set") :]
    [agent] = [document for document in chart.parts(*settings) if document["kind"] == "DaemonSet"]
    [container] = agent["spec"]["template"]["spec"]["containers"]
    assert "--supported-features=*" in container["args"]


def test_the_account_suffices_and_kubernetes_takes_what_the_agent_writes(address: Address, tmp_path: Path) -> None:
    install(address)

    async def scenario() -> None:
        client, agents = client_of(address.kubeconfig), client_of(chart.kubeconfig_of(address, ACCOUNT))
        features = "--supported-features=-NetworkQoS,*"
        try:
            async with beside(client, agents, tmp_path, "v2", features) as here:
                await live(here)
        finally:
            await client.close()
            await agents.close()

    asyncio.run(scenario())


async def live(here: World) -> None:
    """Offer, evict under pressure, taint, take everything back."""
    await here.client.create(resources.PODS.untyped, pod_of_the_page())  # it asks for less than its limit
    await until(lambda: here.offers("4800"))
    node = await here.client.get(resources.NODES, NODE)
    assert int(str(node.status.capacity["kubernetes.io/batch-memory"])) > 600 << 30
    batch = await here.make_pod("batch", cpu="700")
    await here.make_pod("online", "LC")
    await until(lambda: here.shows_quota(batch, "70000"))
    await here.configure(evictingConfig={"evictingCPUHighWatermark": 0})
    await until(lambda: here.told("ConfigApplyFailed", "evictingCPUHighWatermark must be a positive number"))
    here.milli = 9000
    await until(lambda: here.gone("batch"))
    await until(lambda: here.told("Evicted", "Evict offline pod due to cpu resource pressure"))
    assert not await here.gone("online")
    assert keys.OFFLINE_JOB_EVICTING in await taints(here)
    here.milli = 1000
    await until(lambda: relaxed(here))
    label = {"metadata": {"labels": {keys.OVERSUBSCRIPTION: "false"}}}
    await here.client.patch(resources.NODES, NODE, label)
    await here.configure()
    await until(lambda: here.offers(None))
    assert BATCH_CPU not in (await here.client.get(resources.NODES, NODE)).status.capacity


def pod_of_the_page() -> JsonObject:
    [block] = [block for block in blocks(ROOT / "docs" / "agent.md") if block.language == "yaml"]
    document: JsonObject = yaml.safe_load(block.text)
    document["metadata"] |= {"name": "of-the-page", "namespace": "default"}
    return document


async def taints(here: World) -> list[str]:
    node = await here.client.get(resources.NODES, NODE)
    return [taint.key for taint in node.spec.taints]


async def relaxed(here: World) -> bool:
    return keys.OFFLINE_JOB_EVICTING not in await taints(here)
