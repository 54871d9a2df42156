"""The program itself, in a network namespace as its node's, killed while it shapes and limits."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import yaml

from tests.agent import namespaces
from tests.agent.colocation import as_in_the_chart
from tests.agent.world import NODE, World, node_of
from tests.waiting import until
from volcano.agent.configuration import NAME
from volcano.agent.shaper import Shaper
from volcano.api import keys, resources
from volcano.http.server import serve
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.local.apiserver.storage.store import Store

SETTINGS = {"globalConfig": {"networkQosConfig": {"enable": True}, "cpuQosConfig": {"enable": True}}}


def kubeconfig(folder: Path, socket: Path) -> Path:
    path = folder / "kubeconfig"
    document = {
        "clusters": [{"name": "a", "cluster": {"server": f"unix://{socket}"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": ""}}],
        "current-context": "a",
    }
    path.write_text(yaml.safe_dump(document))
    return path


def start(node: namespaces.Node, settings: Path, mount: Path) -> subprocess.Popen[bytes]:
    command = ["ip", "netns", "exec", node.name, *as_in_the_chart("net_admin"), "env", f"SYS_FS_PATH={mount}"]
    command += [sys.executable, "-m", "volcano.agent.main", f"--kubeconfig={settings}", f"--kube-node-name={NODE}"]
    command += ["--kube-pod-namespace=default", "--healthz-port=0", "--supported-features=*"]
    return subprocess.Popen(command)


def test_a_killed_agent_leaves_neither_network_nor_pods_held_back(tmp_path: Path) -> None:
    async def scenario(node: namespaces.Node) -> None:
        shaper = Shaper(node.run)

        async def shaped() -> bool:
            return await asyncio.to_thread(shaper.limits) is not None

        async def untouched(here: World, pod: str) -> bool:
            queues = await asyncio.to_thread(node.run, ["tc", "qdisc", "show"])
            return "htb" not in queues and "clsact" not in queues and await here.shows_quota(f"{pod}/c0", "max")

        api = ApiServer(Store.open(":memory:"))
        await api.start()
        client = Client(InProcessTransport(api.handle))
        socket = tmp_path / "api"
        async with await serve(api.handle, unix_path=str(socket)):
            here = await node_of(client, tmp_path)
            rate = {"metadata": {"annotations": {keys.NETWORK_BANDWIDTH_RATE: "1000"}}}
            await client.patch(resources.NODES, NODE, rate)
            text = {"colocation-config": json.dumps(SETTINGS)}
            settings = {"metadata": {"name": NAME, "namespace": "default"}, "data": text}
            await client.create(resources.CONFIGMAPS.untyped, settings)
            pod = await here.make_pod("batch", cpu="700", address="10.99.0.3")
            agent = start(node, kubeconfig(tmp_path, socket), tmp_path)
            try:
                await until(lambda: here.shows_quota(f"{pod}/c0", "70000"))
                await until(shaped)
                await until(lambda: leads_here(node))
            finally:
                agent.kill()
                await asyncio.to_thread(agent.wait)
            await until(lambda: untouched(here, pod))
            api.stop_watches()
        await api.close()

    with namespaces.node("10.99.0.2", "10.99.0.3") as node:
        asyncio.run(scenario(node))


async def leads_here(node: namespaces.Node) -> bool:
    return "volcano0" in await asyncio.to_thread(node.run, ["tc", "filter", "show", "dev", "v0", "ingress"])
