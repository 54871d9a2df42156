"""Bring-up: what runs, what stands in the way, and what a killed supervisor leaves behind."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from volcano.local import cluster
from volcano.local.cluster import LocalError, Options
from volcano.local.layout import Layout

HOLDER = """
import fcntl, os, sys, time
lock = open(sys.argv[1], "a+")
fcntl.flock(lock, fcntl.LOCK_EX)
lock.truncate(0)
lock.write(sys.argv[2] or str(os.getpid()))
lock.flush()
print("held", flush=True)
time.sleep(float(sys.argv[3]))
"""


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "root")
    layout.create()
    return layout


@contextmanager
def held(layout: Layout, pid: str = "", seconds: float = 60.0) -> Iterator[subprocess.Popen[str]]:
    """The lock as another process holds it, with its own number in it or with `pid`."""
    command = [sys.executable, "-c", HOLDER, str(layout.run / "lock"), pid, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def gone() -> str:
    """The number of a process that was."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return str(process.pid)


def test_the_flags_reach_the_daemons_that_they_are_for(layout: Layout) -> None:
    options = Options(port=4711, cpus=2.0, memory="3Gi", simulated_nodes=5, simulated_cpus=16.0, plugins_dir="/p")
    assert "4711" in cluster.api_server(layout, options).argv
    by_name = {daemon.name: " ".join(daemon.argv) for daemon in cluster.daemons(layout, options)}
    assert "--cpus 2.0 --memory 3Gi --simulated 5 --simulated-cpu 16.0" in by_name["node"]
    assert f"--scheduler-conf {layout.scheduler_conf} --plugins-dir /p" in by_name["vc-scheduler"]
    assert {name for name, argv in by_name.items() if "--leader-elect=false" in argv} == {
        "vc-scheduler",
        "vc-controller-manager",
    }
    assert {name for name, argv in by_name.items() if "--scheduler-name default-scheduler" in argv} == {
        "vc-scheduler",
        "vc-controller-manager",
    }


def test_folders_are_their_owners_alone(layout: Layout) -> None:
    with cluster.claimed(layout):
        assert [oct(folder.stat().st_mode & 0o777) for folder in (layout.root, layout.data, layout.logs)] == [
            "0o700"
        ] * 3
        assert "enqueue, allocate, backfill" in layout.scheduler_conf.read_text()


def test_a_configuration_that_was_edited_is_kept(layout: Layout) -> None:
    layout.scheduler_conf.write_text("actions: allocate\n")
    with cluster.claimed(layout):
        assert layout.scheduler_conf.read_text() == "actions: allocate\n"


def test_nothing_runs_in_a_new_folder(tmp_path: Path) -> None:
    assert cluster.running(Layout(tmp_path)) is None
    assert not cluster.stop(Layout(tmp_path))


def test_a_cluster_that_runs_is_found_and_not_started_twice(layout: Layout) -> None:
    with held(layout) as other:
        assert cluster.running(layout) == other.pid
        with pytest.raises(LocalError, match=f"already .process {other.pid}."), cluster.claimed(layout):
            pass
        threading.Timer(0.2, other.wait).start()
        assert cluster.stop(layout)
    assert cluster.running(layout) is None


def test_daemons_of_a_killed_supervisor_are_waited_for(layout: Layout) -> None:
    with held(layout, gone(), seconds=0.5):
        started = time.monotonic()
        with cluster.claimed(layout):
            assert cluster.running(layout) == os.getpid()
        assert time.monotonic() - started > 0.2


def test_daemons_that_do_not_end_are_named(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "LEFTOVER_SECONDS", 0.2)
    with (
        held(layout, gone()),
        pytest.raises(LocalError, match=r"kill the processes that .*/run/\*\.pid name"),
        cluster.claimed(layout),
    ):
        pass


def test_the_lock_goes_with_its_holder(layout: Layout) -> None:
    with cluster.claimed(layout):
        pass
    with (layout.run / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_whole_cluster_runs_in_one_process(tmp_path: Path) -> None:
    environment = {**os.environ, "VOLCANO_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("KUBECONFIG", None)

    def vcctl(*words: str) -> str:
        program = Path(sysconfig.get_path("scripts"), "vcctl")
        return subprocess.run(
            [program, *words], env=environment, capture_output=True, text=True, timeout=120, check=True
        ).stdout

    assert vcctl("local", "up", "--detach", "--in-process").startswith("The cluster is ready.\n")
    try:
        vcctl("job", "run", "hello", "--requests", "cpu=100m", "--watch", "--", "echo", "hello")
        assert vcctl("job", "logs", "hello") == "hello-default0-0: hello\n"
        assert [line.split()[0] for line in vcctl("local", "status").splitlines()] == [
            "PROCESS",
            "supervisor",
            "all:",
            "export",
        ]
    finally:
        assert vcctl("local", "down") == "The cluster is stopped.\n"


@pytest.mark.parametrize(("state", "ready"), [("Open", True), ("Closed", True), ("", False)])
def test_a_queue_that_a_user_has_closed_does_not_keep_the_cluster_from_starting(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, state: str, ready: bool
) -> None:
    monkeypatch.setattr(cluster, "get_json", lambda socket, path: {"status": {"state": state}})
    assert cluster.takes_jobs(layout) is ready
