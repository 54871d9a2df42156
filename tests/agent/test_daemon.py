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

from tests.agent import namespaces, trees
from tests.controllers.bench import eventually
from volcano.agent import main
from volcano.agent.bandwidth import Limits
from volcano.agent.cgroups import Hierarchy
from volcano.agent.options import FlagError, parse
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
        await self.client.patch(resources.CONFIGMAPS, main.NAME, body, "default")

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
        return (self.hierarchy.read(cgroup, name) or "").split()[0]

    async def shows_quota(self, cgroup: str, wanted: str) -> bool:
        return self.quota(cgroup) == wanted

    async def says(self, cgroup: str, name: str, wanted: str) -> bool:
        return self.hierarchy.read(cgroup, name) == wanted

    async def told(self, reason: str, message: str) -> bool:
        listing = await self.client.list(resources.EVENTS, "default")
        return any(event.reason == reason and message in event.message for event in listing.items)


@asynccontextmanager
async def world(
    mount: Path,
    version: Version = "v2",
    *arguments: str,
    label: str = "true",
    besteffort_quota: str = "",
    shaper: Shaper | None = None,
) -> AsyncIterator[World]:
    api = ApiServer(Store.open(":memory:"))
    await api.start()
    client = Client(InProcessTransport(api.handle))
    found = World(client, mount, version)
    (mount / "cgroup").mkdir(exist_ok=True)
    trees.make(mount / "cgroup", found.hierarchy, "kubepods", "kubepods/besteffort")
    if besteffort_quota:
        found.hierarchy.file("kubepods/besteffort", "cpu.max").write_text(f"{besteffort_quota}\n")
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
            shaper=shaper,
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


def test_what_a_killed_agent_left_is_lifted_for_good(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path / "cgroup", "v2", "cgroupfs")

    async def scenario() -> None:
        async with world(tmp_path, "v2", label="false", besteffort_quota="1000 100000") as here:
            await eventually(lambda: here.shows_quota("kubepods/besteffort", "max"))

    asyncio.run(scenario())
    assert hierarchy.read("kubepods/besteffort", "cpu.max") == "max 100000"


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_batch_pods_yield_the_cpu(tmp_path: Path, version: Version) -> None:
    """By `cpu.idle` where the kernel has no `cpu.qos_level`; the share the kernel forgets then is put back after."""
    share = "cpu.shares" if version == "v1" else "cpu.weight"

    async def scenario() -> World:
        async with world(tmp_path, version, "--supported-features=CPUQoS") as here:
            pods = {name: await here.make_pod(name, qos) for name, qos in (("batch", "BE"), ("online", "LC"))}
            for pod in pods.values():
                here.hierarchy.file(pod, "cpu.qos_level").unlink(missing_ok=True)
                here.hierarchy.file(pod, "cpu.idle").write_text("0\n")
            await here.configure(cpuQosConfig={"enable": True})
            await eventually(lambda: here.says(pods["batch"], "cpu.idle", "1"))
            assert here.hierarchy.read(pods["online"], "cpu.idle") == "0"
            here.hierarchy.file(pods["batch"], share).write_text("3\n")  # as the kernel says of an idle cgroup
            await here.configure(cpuQosConfig={"enable": False})
            await eventually(lambda: here.says(pods["batch"], share, trees.SHARES[version]))
            assert here.hierarchy.read(pods["batch"], "cpu.idle") == "0"
            return here

    asyncio.run(scenario())


def test_shapes_the_network_and_says_what_it_lacks(tmp_path: Path) -> None:
    async def scenario(node: namespaces.Node) -> None:
        shaper = Shaper(node.run)

        async def shaped() -> bool:
            limits = await asyncio.to_thread(shaper.limits)
            filters = ["tc", "filter", "show", "dev", "volcano0", "parent", "1:"]
            return limits is not None and "flowid 1:20" in await asyncio.to_thread(node.run, filters)

        async with world(tmp_path, "v2", "--supported-features=NetworkQoS", shaper=Shaper(node.run)) as here:
            await here.make_pod("batch", address="10.99.0.3")
            await here.configure(networkQosConfig={"enable": True})
            missing = "annotation volcano.sh/network-bandwidth-rate is '': write the node's bandwidth in Mbps"
            await eventually(lambda: here.told("NetworkQoSFailed", missing))
            rate = {"metadata": {"annotations": {keys.NETWORK_BANDWIDTH_RATE: "1000"}}}
            await here.client.patch(resources.NODES, NODE, rate)
            await eventually(shaped)
            assert await asyncio.to_thread(shaper.limits) == Limits(100_000_000, 10_000_000, 12_500_000, 50_000_000)
            own = {"metadata": {"annotations": {"kubernetes.io/egress-bandwidth": "1M"}}}
            await here.client.patch(resources.PODS, "batch", own, "default")
            await eventually(lambda: here.told("NetworkQoSSkipped", "it has bandwidth annotations"))
        assert "ifb" not in node.run(["ip", "-details", "link", "show"])

    with namespaces.node("10.99.0.2", "10.99.0.3") as node:
        asyncio.run(scenario(node))


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
        (["--supported-features=DiskQoS"], "--supported-features has DiskQoS"),
    ],
)
def test_flags_that_make_no_sense(arguments: list[str], message: str) -> None:
    with pytest.raises(FlagError, match=message):
        parse(arguments, ENVIRONMENT)


def test_features_are_decided_by_the_first_word() -> None:
    features = parse(["--supported-features=-CPUQoS,*"], ENVIRONMENT).features
    assert "Eviction" in features
    assert "CPUQoS" not in features
