"""Starting and stopping: in the foreground, with pods that outlive the cluster, and without a trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.e2e.harness import Cluster, eventually, running, vcjob
from volcano.api.resources import JOBS, NODES, QUEUES

pytestmark = pytest.mark.xdist_group("local")


def test_ctrl_c_stops_a_cluster_in_the_foreground(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    command = [Path(sysconfig.get_path("scripts"), "vcctl"), "local", "up", "--nodes", "2"]
    with subprocess.Popen(command, env=cluster.environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "The cluster is ready" in process.stdout.readline()
        assert process.stdout.readline() == f"export KUBECONFIG={cluster.layout.kubeconfig}\n"
        eventually("all nodes", lambda: len(cluster.list(NODES)) == 3)
        daemons = [cluster.pid(daemon) for daemon in ("apiserver", "vc-scheduler", "vc-controller-manager", "node")]
        assert cluster("local", "status").out.count("Mi\n") >= len(daemons)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
    for pid in daemons:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


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
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_deleted_cluster_leaves_nothing_and_starts_anew(tmp_path: Path) -> None:
    with running(tmp_path) as cluster:
        cluster("queue", "create", "mine")
        cluster("local", "down", "--delete")
        assert not cluster.layout.root.exists()
        cluster("local", "up", "--detach")
        assert "mine" not in [queue["metadata"]["name"] for queue in cluster.list(QUEUES)]
