"""The agent beside an API server in one process, on a recorded tree of cgroups."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.agent import trees
from tests.controllers.bench import eventually
from volcano.agent import main
from volcano.agent.cgroups import Hierarchy
from volcano.agent.options import FlagError, parse
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
        await self.client.patch(resources.CONFIGMAPS, main.NAME, body, "default")

    async def make_pod(self, name: str, qos: str = "BE", cpu: str = "500") -> None:
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
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "c", "containerID": "containerd://c0", "image": "i", "imageID": ""}],
        }
        await self.client.patch(resources.PODS, name, {"status": status}, "default", subresource="status")

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
        return (self.hierarchy.read(cgroup, name) or "").split()[0]

    async def shows_quota(self, cgroup: str, wanted: str) -> bool:
        return self.quota(cgroup) == wanted


@asynccontextmanager
async def world(mount: Path, version: Version = "v2", *arguments: str, label: str = "true") -> AsyncIterator[World]:
    api = ApiServer(Store.open(":memory:"))
    await api.start()
    client = Client(InProcessTransport(api.handle))
    found = World(client, mount, version)
    (mount / "cgroup").mkdir(exist_ok=True)
    trees.make(mount / "cgroup", found.hierarchy, "kubepods", "kubepods/besteffort")
    amounts = {"cpu": "10", "memory": "1Ti", "pods": "100"}
    node = {
        "metadata": {"name": NODE, "labels": {keys.OVERSUBSCRIPTION: label}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    await client.create(resources.NODES.untyped, node)
    flags = parse(["--healthz-address=127.0.0.1", "--healthz-port=0", *arguments], ENVIRONMENT)
    environment = {**ENVIRONMENT, "SYS_FS_PATH": str(mount)}
    running = asyncio.create_task(
        main.run(
            Client(InProcessTransport(api.handle)),
            flags,
            environment,
            found.stop,
            now=found.now,
            every=0.02,
            serving=lambda port: setattr(found, "port", port),
        )
    )
    try:
        yield found
        found.stop.set()
        await running
    finally:
        running.cancel()
        api.stop_watches()
        await api.close()


def test_offers_what_is_spare_and_takes_it_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            await eventually(lambda: here.offers("4800"))  # 60 % of 10 cores without the 2 in use
            await here.make_pod("batch")
            await here.make_pod("online", "LC")
            await here.configure(overSubscriptionConfig={"enable": False})
            await eventually(lambda: here.offers(None))
            await eventually(lambda: here.gone("batch"))
            assert not await here.gone("online")

    asyncio.run(scenario())


def test_evicts_the_largest_batch_pod_under_pressure(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            await here.make_pod("large", cpu="900")
            await here.make_pod("online", "LC", cpu="2000")
            await eventually(lambda: here.offers("4800"))
            here.milli = 9000
            await eventually(lambda: here.gone("large"))
            assert not await here.gone("online")
            node = await here.client.get(resources.NODES, NODE)
            assert [taint.key for taint in node.spec.taints if "offline" in taint.key] == [keys.OFFLINE_JOB_EVICTING]
            here.milli = 1000

            async def relaxed() -> bool:
                now = await here.client.get(resources.NODES, NODE)
                return all(taint.key != keys.OFFLINE_JOB_EVICTING for taint in now.spec.taints)

            await eventually(relaxed)

    asyncio.run(scenario())


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_nothing_stays_throttled_when_the_agent_stops(tmp_path: Path, version: Version) -> None:
    async def scenario() -> World:
        async with world(tmp_path, version, "--supported-features=*") as here:
            await here.make_pod("batch", cpu="700")
            listing = await here.client.list(resources.PODS, "default")
            pod = here.hierarchy.pod(listing.items[0].metadata.uid, "BestEffort")
            await eventually(lambda: here.shows_quota(f"{pod}/c0", "70000"))
            await here.configure(cpuThrottlingConfig={"enable": True})
            await eventually(lambda: here.shows_quota("kubepods/besteffort", "650000"))  # 80 % of 10 cores, less 1.5
            return here

    here = asyncio.run(scenario())
    unlimited = "-1" if version == "v1" else "max"
    files = trees.contents(tmp_path / "cgroup")
    quotas = [text.split()[0] for path, text in files.items() if path.endswith(("cpu.max", "cpu.cfs_quota_us"))]
    assert len(quotas) == 4
    assert set(quotas) == {unlimited}
    assert here.quota("kubepods/besteffort") == unlimited


def test_what_a_killed_agent_left_is_lifted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path, "v2", "--supported-features=*", label="false") as here:
            here.hierarchy.file("kubepods/besteffort", "cpu.max").write_text("1000 100000\n")
            await eventually(lambda: here.shows_quota("kubepods/besteffort", "max"))
        assert here.quota("kubepods/besteffort") == "max"

    asyncio.run(scenario())


def test_health_and_metrics(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            await eventually(lambda: here.offers("4800"))
            reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
            writer.write(
                b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\nGET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
            )
            answers = (await reader.read()).decode()
            writer.close()
            assert answers.startswith("HTTP/1.1 200")
            assert f'volcano_agent_oversubscription_resource_quantity{{node="{NODE}",resource="cpu"}} 4800' in answers

    asyncio.run(scenario())


def test_a_bad_configuration_is_told_and_the_old_one_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            await eventually(lambda: here.offers("4800"))
            await here.configure(evictingConfig={"evictingCPUHighWatermark": 0})

            async def told() -> bool:
                listing = await here.client.list(resources.EVENTS, "default")
                return any(
                    event.reason == "ConfigApplyFailed" and "evictingCPUHighWatermark" in event.message
                    for event in listing.items
                )

            await eventually(told)
            here.milli = 4000
            await eventually(lambda: here.offers("3600"))

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--oversubscription-ratio=0"], "over subscription ratio must be greater than 0"),
        (["--oversubscription-policy=other"], "--oversubscription-policy=other is not known"),
        (["--supported-features=NetworkQoS"], "--supported-features has NetworkQoS"),
    ],
)
def test_flags_that_make_no_sense(arguments: list[str], message: str) -> None:
    with pytest.raises(FlagError, match=message):
        parse(arguments, ENVIRONMENT)


def test_features_are_decided_by_the_first_word() -> None:
    features = parse(["--supported-features=-CPUQoS,*"], ENVIRONMENT).features
    assert "Eviction" in features
    assert "CPUQoS" not in features
