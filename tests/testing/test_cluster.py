"""The cluster that tests and notebooks start in their own process."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from volcano.api.resources import CONFIGMAPS, JOBS, NODES
from volcano.kube.client import Client
from volcano.local.cluster import LocalError
from volcano.local.layout import Layout
from volcano.testing.cluster import async_local_cluster, local_cluster

pytest_plugins = ["pytester"]


def job(name: str, *command: str, replicas: int = 1) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "command": list(command)}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    tasks = [{"name": "work", "replicas": replicas, "template": template}]
    return {"metadata": {"name": name}, "spec": {"minAvailable": replicas, "tasks": tasks}}


async def completed(client: Client, name: str) -> bool:
    return (await client.get(JOBS, name, "default")).status.state.phase == "Completed"


async def has_nodes(client: Client, count: int) -> bool:
    return len((await client.list(NODES)).items) == count


def test_a_gang_runs_in_a_cluster_of_this_process(tmp_path: Path) -> None:
    before = threading.active_count()
    with local_cluster(cpus=2) as cluster:
        command = ("sh", "-c", f"echo done > {tmp_path}/$HOSTNAME")
        cluster.run(cluster.client.create(JOBS.untyped, job("gang", *command, replicas=2), "default"))
        cluster.run(until(lambda: completed(cluster.client, "gang")))
        root = cluster.root
        assert cluster.kubeconfig.exists()
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        "gang-work-0": "done\n",
        "gang-work-1": "done\n",
    }
    assert not root.exists()
    assert threading.active_count() == before


def test_a_cluster_lives_in_the_running_event_loop_and_keeps_its_objects(tmp_path: Path) -> None:
    async def write() -> None:
        async with async_local_cluster(tmp_path / "root", simulated_nodes=2) as cluster:
            await cluster.client.create(CONFIGMAPS.untyped, {"metadata": {"name": "kept"}}, "default")
            await until(lambda: has_nodes(cluster.client, 3))

    async def read() -> str:
        async with async_local_cluster(tmp_path / "root") as cluster:
            return (await cluster.client.get(CONFIGMAPS, "kept", "default")).metadata.name

    asyncio.run(write())
    assert asyncio.run(read()) == "kept"


def test_pods_end_with_their_cluster(tmp_path: Path) -> None:
    async def run() -> None:
        async with async_local_cluster(tmp_path / "root") as cluster:
            trace = tmp_path / "trace"
            command = ("sh", "-c", f"while true; do echo . >> {trace}; sleep 0.05; done")
            await cluster.client.create(JOBS.untyped, job("endless", *command), "default")
            await until(lambda: asyncio.to_thread(trace.exists))
        size = trace.stat().st_size
        await asyncio.sleep(0.2)
        assert trace.stat().st_size == size

    asyncio.run(run())


def test_only_one_cluster_lives_in_a_folder(tmp_path: Path) -> None:
    with (
        local_cluster(tmp_path / "root"),
        pytest.raises(LocalError, match=r"is running in .* already"),
        local_cluster(tmp_path / "root"),
    ):
        pass


def test_what_keeps_a_cluster_from_starting_is_raised_to_who_asked(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "root")
    layout.create()
    (layout.data / "state.db").write_bytes(b"no database" * 1000)
    with pytest.raises(LocalError, match="is damaged"), local_cluster(layout.root):
        pass


def test_pytest_has_a_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from volcano.api.resources import QUEUES

        def test_queue(volcano_cluster):
            queue = volcano_cluster.run(volcano_cluster.client.get(QUEUES, "default"))
            assert queue.status.state == "Open"

        def test_work(volcano_client):
            assert volcano_client.submit(pow, 2, 5).result(100) == 32
        """
    )
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=2)
