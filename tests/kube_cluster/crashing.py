"""The two kinds of cluster for tests that kill processes at any moment; who kept them running starts them again."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Protocol

from tests.e2e.harness import Cluster, running
from tests.kube_cluster import control_plane, volcano
from tests.kube_cluster.programs import READY_SECONDS, Programs
from tests.waiting import eventually
from volcano.api.resources import NODES
from volcano.local.cluster import running as supervisor_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kube_cluster.control_plane import Address

FLAGS = ("--cpus", "4")
SUPERVISOR = "supervisor"
LEASE = (
    "--leader-elect=true",
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=300ms",
)
"""The one that was killed holds its lease, and its successor waits as long."""


class Crashing(Protocol):
    """A cluster in which every process named in `victims` may be killed."""

    victims: tuple[str, ...]
    kubeconfig: Path

    def crash(self, victim: str) -> None:
        """kill -9, and see to it that it is started again."""

    def await_api(self) -> None:
        """Wait until the API server answers, and start what ended for want of it."""


class LocalMode:
    """`vcctl local up`: its supervisor starts daemons again, its user the supervisor."""

    victims = ("apiserver", "vc-scheduler", "vc-controller-manager", "node", SUPERVISOR)

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.kubeconfig = cluster.layout.kubeconfig

    def crash(self, victim: str) -> None:
        if victim != SUPERVISOR:
            self._cluster.kill(victim)
            return
        pid = supervisor_of(self._cluster.layout)
        assert pid
        os.kill(pid, signal.SIGKILL)
        self._cluster("local", "up", "--detach", *FLAGS)

    def await_api(self) -> None:
        eventually("the API server", lambda: self._cluster.list(NODES))


class Kubernetes:
    """Kubernetes' own control plane with our daemons: each process is started again as a kubelet would."""

    victims = (
        *("etcd", "kube-apiserver", "kube-controller-manager"),
        *("vc-webhook-manager", "vc-controller-manager", "vc-scheduler", "node"),
    )

    def __init__(self, programs: Programs, address: Address) -> None:
        self._programs = programs
        self._address = address
        self.kubeconfig = address.kubeconfig

    def crash(self, victim: str) -> None:
        self._programs.restart(victim)

    def await_api(self) -> None:
        eventually("the API server", self._is_ready, READY_SECONDS)

    def _is_ready(self) -> bool:
        self._programs.restart_ended()
        return self._address.get("/readyz") == "ok"


def local(root: Path) -> Iterator[Crashing]:
    with running(root, *FLAGS) as cluster:
        yield LocalMode(cluster)


def kube(root: Path) -> Iterator[Crashing]:
    with Programs(root) as programs:
        address = control_plane.start(root, programs)
        volcano.start(root, programs, address, LEASE)
        yield Kubernetes(programs, address)
