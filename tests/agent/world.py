"""The agent beside an API server, on a recorded tree of cgroups."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agent import trees
from volcano.agent import configuration, main
from volcano.agent.cgroups import Hierarchy
from volcano.agent.options import parse
from volcano.agent.shaper import Shaper
from volcano.agent.values import Version
from volcano.api import keys, resources
from volcano.kube.client import Client
from volcano.kube.errors import NotFound
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.local.apiserver.storage.store import Store

NODE = "n1"
BATCH_CPU = "kubernetes.io/batch-cpu"
ENVIRONMENT = {"KUBE_NODE_NAME": NODE, "KUBE_POD_NAMESPACE": "default", "KUBE_POD_NAME": "agent"}


@dataclass
class World:
    """A node of 10 cores; the test moves the clock and the CPU counters on."""

    client: Client
    mount: Path
    version: Version
    seconds: float = 0.0
    milli: int = 2000
    besteffort: int = 500
    used: int = 0
    used_besteffort: int = 0
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0

    @property
    def hierarchy(self) -> Hierarchy:
        return Hierarchy(self.mount / "cgroup", self.version, "cgroupfs")

    def now(self) -> float:
        """Ten seconds later; what was used by then shows in the next reading."""
        self.seconds += 10.0
        self.used += self.milli * 10_000_000
        self.used_besteffort += self.besteffort * 10_000_000
        trees.use_cpu(self.mount / "cgroup", self.hierarchy, "kubepods", self.used)
        trees.use_cpu(self.mount / "cgroup", self.hierarchy, "kubepods/besteffort", self.used_besteffort)
        return self.seconds

    async def configure(self, **sections: Any) -> None:
        body = {"data": {"colocation-config": json.dumps({"globalConfig": sections})}}
        await self.client.patch(resources.CONFIGMAPS, configuration.NAME, body, "default")

    async def make_pod(self, name: str, qos: str = "BE", cpu: str = "500", address: str = "") -> str:
        """Its cgroup."""
        amounts = {BATCH_CPU: cpu}
        container = {"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}
        document = {
            "metadata": {"name": name, "namespace": "default", "annotations": {keys.QOS_LEVEL: qos}},
            "spec": {"nodeName": NODE, "containers": [container], "terminationGracePeriodSeconds": 0},
        }
        made = await self.client.create(resources.PODS.untyped, document)
        pod = self.hierarchy.pod(made["metadata"]["uid"], "BestEffort")
        trees.make(self.mount / "cgroup", self.hierarchy, pod, f"{pod}/c0")
        status = {
            "phase": "Running",
            "qosClass": "BestEffort",
            "podIP": address,
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "c", "containerID": "containerd://c0", "image": "i", "imageID": ""}],
        }
        await self.client.patch(resources.PODS, name, {"status": status}, "default", subresource="status")
        return pod

    async def offered(self) -> str | None:
        node = await self.client.get(resources.NODES, NODE)
        found = node.status.allocatable.get(BATCH_CPU)
        return None if found is None else str(found)

    async def offers(self, wanted: str | None) -> bool:
        return await self.offered() == wanted

    async def gone(self, pod: str) -> bool:
        try:
            await self.client.get(resources.PODS, pod, "default")
        except NotFound:
            return True
        return False

    def quota(self, cgroup: str) -> str:
        name = "cpu.cfs_quota_us" if self.version == "v1" else "cpu.max"
        return (self.hierarchy.read(cgroup, name) or "").partition(" ")[0]

    async def shows_quota(self, cgroup: str, wanted: str) -> bool:
        return self.quota(cgroup) == wanted

    async def says(self, cgroup: str, name: str, wanted: str) -> bool:
        return self.hierarchy.read(cgroup, name) == wanted

    async def ask(self, path: str) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n".encode())
        answer = (await reader.read()).decode()
        writer.close()
        return answer

    async def told(self, reason: str, message: str) -> bool:
        listing = await self.client.list(resources.EVENTS, "default")
        return any(event.reason == reason and message in event.message for event in listing.items)


async def node_of(client: Client, mount: Path, version: Version = "v2", label: str = "true") -> World:
    """A node without an agent."""
    found = World(client, mount, version)
    (mount / "cgroup").mkdir(exist_ok=True)
    trees.make(mount / "cgroup", found.hierarchy, "kubepods", "kubepods/besteffort")
    amounts = {"cpu": "10", "memory": "1Ti", "pods": "100"}
    node = {
        "metadata": {"name": NODE, "labels": {keys.OVERSUBSCRIPTION: label}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    await client.create(resources.NODES.untyped, node)
    return found


@asynccontextmanager
async def beside(
    client: Client,
    agents: Client,
    mount: Path,
    version: Version = "v2",
    *arguments: str,
    label: str = "true",
    besteffort_quota: str = "",
    shaper: Shaper | None = None,
) -> AsyncIterator[World]:
    """A node, and the agent that speaks to the same API server with a client of its own."""
    found = await node_of(client, mount, version, label)
    if besteffort_quota:
        found.hierarchy.file("kubepods/besteffort", "cpu.max").write_text(f"{besteffort_quota}\n")
    flags = parse(["--healthz-address=127.0.0.1", "--healthz-port=0", *arguments], ENVIRONMENT)
    running = asyncio.create_task(
        main.run(
            agents,
            flags,
            {**ENVIRONMENT, "SYS_FS_PATH": str(mount)},
            found.stop,
            now=found.now,
            every=0.02,
            serving=lambda port: setattr(found, "port", port),
            shaper=shaper,
        )
    )
    try:
        yield found
        found.stop.set()
        await running
    finally:
        running.cancel()


@asynccontextmanager
async def world(mount: Path, version: Version = "v2", *arguments: str, **options: Any) -> AsyncIterator[World]:
    """With an API server in this process."""
    api = ApiServer(Store.open(":memory:"))
    await api.start()
    client, agents = Client(InProcessTransport(api.handle)), Client(InProcessTransport(api.handle))
    try:
        async with beside(client, agents, mount, version, *arguments, **options) as found:
            yield found
    finally:
        api.stop_watches()
        await api.close()
