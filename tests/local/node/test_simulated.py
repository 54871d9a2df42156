"""Simulated nodes: pods run at once, end as told, go when deleted; ten thousand would be cheap."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tests.waiting import SECONDS, until
from volcano.api.meta import JsonObject
from volcano.api.resources import LEASES, NODES, PODS
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.local.node.simulated import SimulatedNodes, remove_unserved
from volcano.local.node.spec import NodeSpec, uniform


class Place:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self, *specs: NodeSpec, owner: str = "") -> None:
        nodes = SimulatedNodes(self.client, specs, owner)
        self.tasks.append(asyncio.create_task(nodes.run()))
        await asyncio.wait_for(nodes.registered.wait(), SECONDS)

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks.clear()

    async def create(self, name: str, node: str = "sim-000", command: tuple[str, ...] = (), **annotations: str) -> None:
        marks = {f"volcano.sh/simulate-{key.replace('_', '-')}": value for key, value in annotations.items()}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "annotations": marks},
            "spec": {"nodeName": node, "containers": [{"name": "main", "image": "nginx", "command": command}]},
        }
        await self.client.create(PODS.untyped, pod)

    async def pods(self) -> dict[str, JsonObject]:
        items = (await self.client.list(PODS.untyped, "default")).items
        return {pod["metadata"]["name"]: pod for pod in items}

    async def reach(self, **phases: str) -> dict[str, JsonObject]:
        async def reached() -> bool:
            return {name: pod["status"]["phase"] for name, pod in (await self.pods()).items()} == phases

        await until(reached)
        return await self.pods()


@asynccontextmanager
async def place() -> AsyncIterator[Place]:
    api = ApiServer.open(":memory:")
    result = Place(Client(InProcessTransport(api.handle)))
    try:
        yield result
    finally:
        await result.stop()
        await api.close()


def at(story: Callable[[Place], Awaitable[None]]) -> None:
    async def play() -> None:
        async with asyncio.timeout(250), place() as here:
            await story(here)

    asyncio.run(play())


def test_a_command_that_nothing_ends_is_said_not_to_run() -> None:
    async def story(here: Place) -> None:
        await here.start(*uniform(1, "8", "32Gi"))
        await here.create("lost", command=("make",))
        await here.create("meant", command=("make",), duration="1h")
        await here.create("image")
        pods = await here.reach(lost="Running", meant="Running", image="Running")
        assert pods["lost"]["status"]["reason"] == "Simulated"
        assert "node sim-000 is simulated: the command is not run" in pods["lost"]["status"]["message"]
        assert not {"reason", "message"} & (pods["meant"]["status"] | pods["image"]["status"]).keys()

    at(story)


def test_nodes_show_what_they_are_told_to_be() -> None:
    async def story(here: Place) -> None:
        taints = [{"key": "gpu", "effect": "NoSchedule"}]
        await here.start(
            NodeSpec("big", "64", "1Ti", labels={"zone": "a"}, taints=taints, resources={"nvidia.com/gpu": "8"})
        )
        node = await here.client.get(NODES.untyped, "big")

        sizes = {"cpu": "64", "memory": "1Ti", "ephemeral-storage": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
        assert node["status"]["allocatable"] == sizes
        assert node["metadata"]["labels"]["zone"] == "a"
        assert node["spec"]["taints"][0]["key"] == "gpu"
        assert (await here.client.get(LEASES.untyped, "big", "kube-node-lease"))["spec"]["leaseDurationSeconds"] == 3600

    at(story)


def test_pods_run_until_deleted_or_end_as_their_annotations_say() -> None:
    async def story(here: Place) -> None:
        await here.start(*uniform(1, "8", "32Gi"))
        await here.create("forever")
        await here.create("short", duration="100ms")
        await here.create("bad", duration="100ms", exit_code="3")
        pods = await here.reach(forever="Running", short="Succeeded", bad="Failed")

        assert pods["bad"]["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
        assert pods["forever"]["status"]["podIP"]
        for name in pods:
            await here.client.delete(PODS, name, "default")
        await here.reach()

    at(story)


def test_pods_of_other_nodes_are_left_alone() -> None:
    async def story(here: Place) -> None:
        await here.start(*uniform(1, "8", "32Gi"))
        await here.create("other", node="elsewhere")
        await here.create("mine")
        await here.reach(other="Pending", mine="Running")

    at(story)


def test_a_restart_loses_nothing() -> None:
    async def story(here: Place) -> None:
        await here.start(*uniform(1, "8", "32Gi"))
        await here.create("ends", duration="1s")
        await until(lambda: have_begun(here, 1))
        await here.stop()
        await here.create("new")
        await here.start(*uniform(1, "8", "32Gi"))
        await here.reach(ends="Succeeded", new="Running")

    at(story)


@pytest.mark.parametrize("step", [3600.0, -3600.0], ids=["forward", "back"])
def test_a_clock_that_is_set_makes_no_run_longer_or_shorter(monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    """Nor after a restart, as far as that can be known."""
    true_time = time.time

    async def story(here: Place) -> None:
        await here.start(*uniform(1, "8", "32Gi"))
        await here.create("ends", duration="500ms")
        await here.create("goes-on", duration="30m")
        await here.create("waits", duration="2s")
        await until(lambda: have_begun(here, 3))
        monkeypatch.setattr(time, "time", lambda: true_time() + step)
        await until(lambda: phase_of(here, "ends", "Succeeded"))
        assert (await here.pods())["goes-on"]["status"]["phase"] == "Running"
        await here.stop()
        await here.start(*uniform(1, "8", "32Gi"))
        await until(lambda: phase_of(here, "waits", "Succeeded"))

    at(story)


async def have_begun(here: Place, count: int) -> bool:
    """On a slow machine the short ones have ended by then."""
    phases = [pod["status"]["phase"] for pod in (await here.pods()).values()]
    return len(phases) == count and "Pending" not in phases


async def phase_of(here: Place, name: str, phase: str) -> bool:
    return bool((await here.pods())[name]["status"]["phase"] == phase)


def test_nodes_of_an_earlier_run_go_unless_they_are_served_or_of_others() -> None:
    async def story(here: Place) -> None:
        for owner in ("mine", "another", ""):
            await here.start(*uniform(3, "8", "32Gi", prefix=owner or "nobody"), owner=owner)
        await here.stop()

        await remove_unserved(here.client, "mine", {"mine-000"})

        for resource in (NODES, LEASES):
            left = {item["metadata"]["name"] for item in (await here.client.list(resource.untyped)).items}
            others = {f"{owner}-{index:03d}" for owner in ("another", "nobody") for index in range(3)}
            assert left == {"mine-000", *others}

    at(story)


def test_two_thousand_pods_are_cheap() -> None:
    async def story(here: Place) -> None:
        await here.start(*uniform(20, "64", "256Gi", pods=200))
        for number in range(2000):
            await here.create(f"p{number}", node=f"sim-{number % 20:03d}", duration="100ms")
        began = time.process_time()

        async def done() -> bool:
            phases = Counter(pod["status"]["phase"] for pod in (await here.pods()).values())
            return phases["Succeeded"] == 2000

        await until(done, 200)
        assert time.process_time() - began < 10

    at(story)
