"""What goes wrong around a cluster: ports, databases, disks and kubeconfigs. Nothing acknowledged is lost."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.e2e.harness import Cluster, running
from tests.waiting import eventually
from volcano.api.resources import CONFIGMAPS, QUEUES
from volcano.kube.client import Client
from volcano.kube.errors import ApiError

pytestmark = pytest.mark.xdist_group("trouble")

MEBIBYTE = 1024 * 1024


@pytest.fixture
def stopped(tmp_path: Path) -> Cluster:
    """A cluster that has been up and has a queue of its own."""
    with running(tmp_path) as cluster:
        cluster("queue", "create", "mine")
    return cluster


def refused(cluster: Cluster, *flags: str) -> str:
    """Why `vcctl local up` refuses."""
    told = cluster("local", "up", "--detach", *flags, fails=True)
    assert told.status == 255
    assert told.err.startswith("Failed to start the cluster: ")
    assert "No cluster is running" in cluster("local", "status", fails=True).out
    return told.err


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
        why = refused(Cluster(tmp_path), "--port", str(port))
    assert f"port {port} on 127.0.0.1 is in use by another program" in why
    assert "choose another --port" in why


def test_a_second_cluster_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with running(tmp_path) as cluster:
        told = cluster("local", "up", "--detach", fails=True)
        assert f"a cluster is running in {cluster.layout.root} already" in told.err
        assert "vcctl local down" in told.err
        assert "vc-scheduler" in cluster("local", "status").out


def test_a_locked_database_is_named_and_left_alone(stopped: Cluster) -> None:
    database = stopped.layout.data / "state.db"
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        why = refused(stopped)
        assert f"database {database} is locked" in why
        other.execute("ROLLBACK")
    with running(stopped.home):
        assert stopped.read(QUEUES, "mine")


def test_a_damaged_database_is_named_and_left_alone(stopped: Cluster) -> None:
    database = stopped.layout.data / "state.db"
    good = database.read_bytes()
    database.write_bytes(os.urandom(len(good)))
    damaged = database.read_bytes()
    why = refused(stopped)
    assert f"database {database} is damaged" in why
    assert "move it away to start empty" in why
    assert database.read_bytes() == damaged
    database.write_bytes(good)
    with running(stopped.home):
        assert stopped.read(QUEUES, "mine")


def test_a_kubeconfig_of_a_cluster_that_is_down_says_so(stopped: Cluster) -> None:
    told = stopped("job", "list", "--kubeconfig", str(stopped.layout.kubeconfig), fails=True)
    assert told.status == 255
    assert "cannot connect to https://127.0.0.1:" in told.err
    assert f"of {stopped.layout.kubeconfig}): is the cluster running, and the kubeconfig current?" in told.err
    assert "Start one with `vcctl local up`" in stopped("local", "status", fails=True).out
    assert "No cluster is running" in stopped("local", "down").out


def test_without_any_kubeconfig_the_ways_to_one_are_told(tmp_path: Path) -> None:
    told = Cluster(tmp_path)("job", "list", fails=True)
    assert "no cluster is configured" in told.err
    assert "vcctl local up" in told.err


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 28 MiB."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("mounting a small file system needs root on Linux")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=28m", "none", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system may be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_disk_without_room_is_named(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(20 * MEBIBYTE))
    why = refused(Cluster(small_disk))
    assert f"the disk of {small_disk / 'local'} is full" in why
    assert "--root" in why


def written(cluster: Cluster) -> bool:
    """A queue is there, made now or by an attempt before."""
    with suppress(ApiError):
        cluster.create(QUEUES, {"metadata": {"name": "after"}})
    return bool(cluster.read(QUEUES, "after"))


def test_a_disk_that_fills_up_refuses_writes_and_loses_none(small_disk: Path) -> None:
    kept: list[str] = []

    async def write_until_refused(client: Client) -> ApiError:
        for index in range(1000):
            block = {"metadata": {"name": f"block-{index}"}, "data": {"text": "x" * 900_000}}
            try:
                await client.create(CONFIGMAPS.untyped, block, "default")
            except ApiError as error:
                return error
            kept.append(f"block-{index}")
        raise AssertionError("the disk is not full yet")

    def kept_blocks_are_there(cluster: Cluster) -> bool:
        return {item["metadata"]["name"] for item in cluster.list(CONFIGMAPS)} >= set(kept)

    with running(small_disk) as cluster:
        error = cluster.talk(write_until_refused)
        assert kept
        assert error.status in (500, 507)
        assert "no space left" in str(error)
        assert "the change was not made" in str(error)
        assert kept_blocks_are_there(cluster)
        subprocess.run(["mount", "-o", "remount,size=200m", small_disk], check=True)
        eventually("writes to go through again", lambda: written(cluster))
    with running(small_disk) as cluster:
        assert kept_blocks_are_there(cluster)
        assert cluster.read(QUEUES, "after")
