"""`vcctl local up` in the foreground: what ends it, and what becomes of its pods."""

from __future__ import annotations

import os
import signal
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.harness import Cluster
from tests.waiting import eventually

pytestmark = pytest.mark.xdist_group("e2e")


@contextmanager
def foreground(cluster: Cluster, *flags: str) -> Iterator[subprocess.Popen[str]]:
    command = [f"{sysconfig.get_path('scripts')}/vcctl", "local", "up", "--cpus", "2", *flags]
    with subprocess.Popen(command, env=cluster.environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "The cluster is ready. In another shell:\n"
            assert process.stdout.readline() == f"export KUBECONFIG='{cluster.layout.kubeconfig}'\n"
            yield process
        finally:
            process.terminate()
            process.wait(timeout=120)
            cluster("local", "down")


def sleeping(cluster: Cluster) -> int:
    """The process of a pod that sleeps."""
    note = cluster.home / "pid"
    command = ("sh", "-c", f"echo $$$$ > '{note}'; exec sleep 600")
    cluster("job", "run", "sleeping", "--requests", "cpu=10m", "--", *command)
    return int(eventually("the pod to run", lambda: note.exists() and note.read_text().strip()))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("number", "flags"), [(signal.SIGINT, ()), (signal.SIGHUP, ("--in-process",))], ids=["processes", "one-process"]
)
def test_ctrl_c_and_a_closed_terminal_end_the_cluster_and_its_pods(
    tmp_path: Path, number: signal.Signals, flags: tuple[str, ...]
) -> None:
    (tmp_path / "a home").mkdir()
    cluster = Cluster(tmp_path / "a home")
    with foreground(cluster, *flags) as process:
        pid = sleeping(cluster)
        os.kill(process.pid, number)
        out, _ = process.communicate(timeout=120)
        assert not is_alive(pid)
        assert out == "The cluster is stopped.\n"
        assert process.returncode == 0


def test_pods_that_are_to_go_on_do(tmp_path: Path) -> None:
    (tmp_path / "a home").mkdir()
    cluster = Cluster(tmp_path / "a home")
    with foreground(cluster) as process:
        pid = sleeping(cluster)
        cluster("local", "down", "--keep-pods")
        process.wait(timeout=120)
        assert is_alive(pid)
        cluster("local", "down")
        eventually("the pod to end", lambda: not is_alive(pid))
