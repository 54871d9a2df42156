"""Stopping a cluster: with pods that outlive it, with pods that do not, and without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.harness import running, vcjob
from tests.e2e.test_foreground import is_alive
from tests.waiting import eventually
from volcano.api.resources import JOBS, QUEUES

pytestmark = pytest.mark.xdist_group("local")


def test_pods_that_are_kept_go_on_and_are_adopted(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = f"echo begins >> {trace}; sleep 3; echo ends >> {trace}"
    with running(tmp_path, "--cpus", "2") as cluster:
        cluster.create(JOBS, vcjob("lasting", "sh", "-c", command))
        eventually("the pod to begin", trace.exists)
        cluster("local", "down", "--keep-pods")
        cluster("local", "up", "--detach", "--cpus", "2")
        eventually("the job to complete", lambda: cluster.phase("lasting") == "Completed")
    assert trace.read_text() == "begins\nends\n"


def test_pods_end_with_their_cluster(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with running(tmp_path, "--cpus", "2") as cluster:
        command = f"echo $$$$ > {trace}; sleep 1000"  # Kubernetes makes one dollar of two
        cluster.create(JOBS, vcjob("endless", "sh", "-c", command))
        pid = int(eventually("the pod to begin", lambda: trace.exists() and trace.read_text().strip()))
    assert not is_alive(pid)


def test_a_deleted_cluster_leaves_nothing_and_starts_anew(tmp_path: Path) -> None:
    with running(tmp_path) as cluster:
        cluster("queue", "create", "mine")
        cluster("local", "down", "--delete")
        assert not cluster.layout.root.exists()
        cluster("local", "up", "--detach")
        assert "mine" not in [queue["metadata"]["name"] for queue in cluster.list(QUEUES)]
