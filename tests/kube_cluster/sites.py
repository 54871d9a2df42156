"""The two kinds of cluster that every scenario runs on: local mode, and Kubernetes' own control plane."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.kube_cluster import control_plane, volcano
from tests.kube_cluster.jobs import gang
from tests.kube_cluster.programs import Programs
from tests.kubectl.harness import Cluster, Kubectl, Result
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.control_plane import Address

COMMAND_SECONDS = 90


@dataclass(frozen=True)
class Members:
    """What a cluster of separate processes is made of, for tests that kill and add some."""

    root: Path
    programs: Programs
    address: Address


@dataclass(frozen=True)
class Site:
    """A running cluster, seen by a person with vcctl and kubectl in one namespace."""

    kind: str
    kubectl: Kubectl
    members: Members | None = None

    @property
    def namespace(self) -> str:
        return self.kubectl.namespace

    def vcctl(self, *args: str, fails: bool = False) -> Result:
        """Run vcctl; the exit status must be as expected."""
        vcctl = Path(sysconfig.get_path("scripts"), "vcctl")
        environment = {**os.environ, "KUBECONFIG": str(self.kubectl.kubeconfig)}
        done = subprocess.run(
            [vcctl, *args], env=environment, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
        )
        assert (done.returncode != 0) == fails, f"vcctl {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return Result(done.returncode, done.stdout, done.stderr)

    def job(self, *args: str, fails: bool = False) -> Result:
        """Run `vcctl job …` in the namespace."""
        return self.vcctl("job", *args, "--namespace", self.namespace, fails=fails)

    def await_queue(self, name: str, state: str) -> None:
        """Wait until the queue is Open or Closed, and admission has heard of it."""
        eventually(f"the queue to be {state}", lambda: self.kubectl.get("queue", name)["status"]["state"] == state)
        asked = gang("asked", 1, queue=name)
        eventually("admission to hear of it", lambda: bool(self.kubectl.refusal(asked)) == (state == "Closed"))

    def phase(self, job: str) -> str:
        """The phase of a job; "" before it has one."""
        found = self.kubectl.get("vcjob", job)
        return str(((found.get("status") or {}).get("state") or {}).get("phase", ""))

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.kubectl.get("pods")["items"]
        return found


def local(root: Path, kubectl: Path) -> Iterator[Site]:
    """`vcctl local up`."""
    cluster = Cluster(root / "root")
    try:
        cluster.start()
        yield Site("local", Kubectl(kubectl, cluster.kubeconfig, root))
    finally:
        cluster.stop()


def kube(root: Path, kubectl: Path) -> Iterator[Site]:
    """Kubernetes' own control plane, with our daemons and our node."""
    with Programs(root) as programs:
        address = control_plane.start(root, programs)
        control_plane.start_scheduler(programs, address)
        volcano.start(root, programs, address)
        yield Site("kube", Kubectl(kubectl, address.kubeconfig, root), Members(root, programs, address))
