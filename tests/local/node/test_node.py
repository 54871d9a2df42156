"""The node daemon against an API server: runs, reports, deletes, survives kill -9 of itself and of supervisors."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.local.node.cluster import Cluster, cluster
from tests.waiting import SECONDS, until
from volcano.api import quantity
from volcano.api.meta import JsonObject
from volcano.api.resources import CONFIGMAPS, LEASES, NODES, PODS
from volcano.http.client import Endpoint, HttpClient
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.local.node import registration
from volcano.local.node.shutdown import stop_pods

IGNORES_TERM = "trap '' TERM; while true; do sleep 0.1; done"


def on_cluster(story: Callable[[Cluster], Awaitable[None]], seconds: float = 250.0) -> None:
    async def play() -> None:
        async with asyncio.timeout(seconds), cluster() as world:
            world.start_node()
            await story(world)

    asyncio.run(play())


def exit_of(pod: JsonObject) -> JsonObject:
    state: JsonObject = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    return state


def report_of(world: Cluster, pod: JsonObject) -> JsonObject:
    path = world.data_dir / "pods" / pod["metadata"]["uid"] / "report.json"
    result: JsonObject = json.loads(path.read_text())
    return result


def test_pods_run_and_their_results_are_reported() -> None:
    async def story(world: Cluster) -> None:
        await world.create("good", "sh", "-c", "echo hello")
        await world.create("bad", "sh", "-c", "exit 7")
        await world.create("nonsense", "no-such-program")

        assert exit_of(await world.phase("good", "Succeeded"))["reason"] == "Completed"
        assert exit_of(await world.phase("bad", "Failed"))["exitCode"] == 7
        assert exit_of(await world.phase("nonsense", "Failed"))["reason"] == "StartError"

    on_cluster(story)


def test_what_somebody_else_writes_of_a_pod_is_put_right() -> None:
    async def story(world: Cluster) -> None:
        await world.create("p", "sleep", "1000")
        await world.phase("p", "Running")
        await world.client.patch(PODS.untyped, "p", {"status": {"phase": "Unknown"}}, "default", subresource="status")

        await world.phase("p", "Running")

    on_cluster(story)


def test_the_node_registers_and_sends_heartbeats() -> None:
    async def story(world: Cluster) -> None:
        async def registered() -> bool:
            return bool((await world.client.list(LEASES, "kube-node-lease")).items)

        await until(registered)
        node = await world.client.get(NODES.untyped, "n1")

        assert quantity.units(node["status"]["capacity"]["cpu"]) == 1000
        assert {c["type"]: c["status"] for c in node["status"]["conditions"]}["Ready"] == "True"
        assert node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] > 0

    on_cluster(story)


def test_a_deleted_or_silenced_node_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "HEARTBEAT_SECONDS", 0.05)

    async def story() -> None:
        api = ApiServer.open(":memory:")
        client, registered = Client(InProcessTransport(api.handle)), asyncio.Event()
        description = registration.NodeDescription("n1", {"cpu": "1"})
        task = asyncio.create_task(registration.keep_registered(client, description, registered))
        await asyncio.wait_for(registered.wait(), SECONDS)

        async def ready() -> bool:
            nodes = (await client.list(NODES.untyped)).items
            return [c["status"] for n in nodes for c in n["status"]["conditions"] if c["type"] == "Ready"] == ["True"]

        await client.delete(NODES, "n1")
        await until(ready)
        condition = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
        await client.patch(NODES.untyped, "n1", {"status": {"conditions": condition}}, subresource="status")
        await until(ready)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await api.close()

    asyncio.run(story())


def test_a_data_folder_serves_one_node_process() -> None:
    async def story(world: Cluster) -> None:
        await world.create("p", "true")
        await world.phase("p", "Succeeded")
        first = world.node
        world.start_node()
        assert world.node is not first
        assert world.node is not None
        assert await asyncio.to_thread(world.node.wait, 10) == 1
        assert "is in use by another node process" in (world.data_dir.parent / "node.log").read_text()
        world.node = first

    on_cluster(story)


def test_an_image_without_command_fails_with_advice_and_runs_when_it_asks_to_be_simulated() -> None:
    async def story(world: Cluster) -> None:
        await world.create("image")
        await world.create(
            "pretended", annotations={"volcano.sh/simulate": "true", "volcano.sh/simulate-duration": "500ms"}
        )

        failed = await world.phase("image", "Failed")
        assert failed["status"]["reason"] == "NeedsContainerRuntime"
        assert "volcano.sh/simulate" in failed["status"]["message"]
        await world.phase("pretended", "Running")
        await world.phase("pretended", "Succeeded")

    on_cluster(story)


def test_a_missing_config_map_holds_the_pod_until_it_appears() -> None:
    async def story(world: Cluster) -> None:
        volume = [{"name": "v", "configMap": {"name": "late"}}]
        mount = [{"name": "v", "mountPath": "/etc/late"}]
        main = {"name": "main", "image": "b", "command": ["cat", "/etc/late/key"], "volumeMounts": mount}
        await world.create("waits", containers=[main], volumes=volume)

        async def explained() -> bool:
            statuses = (await world.pod("waits"))["status"].get("containerStatuses") or [{}]
            return "waiting" in statuses[0].get("state", {})

        await until(explained)
        state = (await world.pod("waits"))["status"]["containerStatuses"][0]["state"]["waiting"]
        assert state["reason"] == "CreateContainerConfigError"
        assert 'configmap "late" not found' in state["message"]
        metadata = {"name": "late", "namespace": "default"}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": "value"}}
        await world.client.create(CONFIGMAPS.untyped, document)
        await world.phase("waits", "Succeeded")

    on_cluster(story)


def test_deletion_is_graceful_and_leaves_nothing() -> None:
    async def story(world: Cluster) -> None:
        ready, go = world.data_dir.parent / "ready", world.data_dir.parent / "go"
        ends = f"until [ -e {go} ]; do sleep 0.05; done; exit 0"
        await world.create("p", "sh", "-c", f"trap '{ends}' TERM; touch {ready}; while true; do sleep 0.05; done")
        await until(ready.exists)
        await world.phase("p", "Running")
        await world.client.delete(PODS, "p", "default")
        assert (await world.pod("p"))["metadata"]["deletionTimestamp"]
        go.touch()

        async def gone() -> bool:
            return not await world.pods() and not list((world.data_dir / "pods").iterdir())

        await until(gone)

    on_cluster(story)


def test_kill_9_of_the_node_loses_nothing_and_runs_nothing_twice() -> None:
    async def story(world: Cluster) -> None:
        marks = world.data_dir.parent / "marks"
        marks.mkdir()
        for number in range(30):
            script = f"echo x >> {marks}/{number}; sleep {number % 3 * 0.4}; exit {number % 2}"
            await world.create(f"p{number}", "sh", "-c", script)
        for _ in range(3):
            await asyncio.sleep(0.3)
            world.kill_node()
            world.start_node()
        for number in range(30):
            await world.phase(f"p{number}", "Failed" if number % 2 else "Succeeded")

        assert [(marks / str(number)).read_text() for number in range(30)] == ["x\n"] * 30

    on_cluster(story)


def test_a_restarted_node_adopts_what_runs_and_reports_what_ended_meanwhile() -> None:
    async def story(world: Cluster) -> None:
        go = world.data_dir.parent / "go"
        long = await world.create("long", "sleep", "100")
        short = await world.create("short", "sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done")
        await world.phase("long", "Running")
        await world.phase("short", "Running")
        before = report_of(world, long)["containers"]["main"]["pid"]
        world.kill_node()
        go.touch()
        await until(lambda: report_of(world, short)["finished"])
        assert (await world.pod("short"))["status"]["phase"] == "Running"
        world.start_node()

        await world.phase("short", "Succeeded")
        assert report_of(world, long)["containers"]["main"]["pid"] == before
        assert report_of(world, short)["containers"]["main"]["restarts"] == 0
        await world.client.delete(PODS, "long", "default", grace_seconds=1)

        async def gone() -> bool:
            return [pod["metadata"]["name"] for pod in await world.pods()] == ["short"]

        await until(gone)

    on_cluster(story)


def test_pods_deleted_while_the_node_is_away_are_ended_when_it_returns() -> None:
    async def story(world: Cluster) -> None:
        pod = await world.create("p", "sleep", "100")
        await world.phase("p", "Running")
        child = report_of(world, pod)["containers"]["main"]["pid"]
        world.kill_node()
        await world.client.delete(PODS, "p", "default", grace_seconds=0)
        world.start_node()

        async def cleared() -> bool:
            return not list((world.data_dir / "pods").iterdir())

        await until(cleared)
        await until(lambda: not Path(f"/proc/{child}").exists())

    on_cluster(story)


def test_a_killed_supervisor_is_a_failed_container() -> None:
    async def story(world: Cluster) -> None:
        pod = await world.create("p", "sleep", "100")
        again = await world.create("q", "sleep", "100", restartPolicy="OnFailure")
        await world.phase("p", "Running")
        await world.phase("q", "Running")
        for victim in (pod, again):
            os.kill(report_of(world, victim)["pid"], signal.SIGKILL)

        failed = exit_of(await world.phase("p", "Failed"))
        assert (failed["exitCode"], failed["reason"]) == (137, "SupervisorLost")

        async def restarted() -> bool:
            status = (await world.pod("q"))["status"]["containerStatuses"][0]
            return status["restartCount"] == 1 and "running" in status["state"]

        await until(restarted)

    on_cluster(story)


def test_a_pod_beyond_the_capacity_is_refused() -> None:
    async def story(world: Cluster) -> None:
        resources = {"requests": {"cpu": "1001"}}
        main = {"name": "main", "image": "b", "command": ["true"], "resources": resources}
        await world.create("big", containers=[main])

        assert (await world.phase("big", "Failed"))["status"]["reason"] == "OutOfcpu"

    on_cluster(story)


def test_a_gang_of_200_starts() -> None:
    async def story(world: Cluster) -> None:
        for number in range(200):
            await world.create(f"p{number}", "sleep", "100")

        async def running() -> bool:
            return Counter(pod["status"]["phase"] for pod in await world.pods())["Running"] == 200

        await until(running, 200)

    on_cluster(story)


def test_logs_are_served_to_the_cluster_only() -> None:
    async def story(world: Cluster) -> None:
        await world.create("p", "sh", "-c", "echo hello")
        await world.phase("p", "Succeeded")
        node = await world.client.get(NODES.untyped, "n1")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        endpoint = Endpoint("127.0.0.1", node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"], context)
        http = HttpClient(endpoint)
        try:
            assert (await http.request("GET", "/healthz")).content == b"ok"
            assert (await http.request("GET", "/containerLogs/default/p/main")).status == 401
        finally:
            await http.close()

    on_cluster(story)


def test_local_down_ends_every_pod_without_any_daemon() -> None:
    async def story(world: Cluster) -> None:
        pods = [await world.create("polite", "sleep", "100"), await world.create("rude", "sh", "-c", IGNORES_TERM)]
        for pod in pods:
            await world.phase(pod["metadata"]["name"], "Running")
        world.kill_node()
        ended = await asyncio.to_thread(stop_pods, world.data_dir)

        assert ended == 2
        assert stop_pods(world.data_dir) == 0
        for pod in pods:
            assert report_of(world, pod)["finished"]

    on_cluster(story)
