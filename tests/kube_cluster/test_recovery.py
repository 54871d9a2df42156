"""What happens to a cluster besides crashes: every daemon outlives it without a restart and without a storm of lists.

The audit log of the API server says who listed what. Leases are short, so that the longer disturbances outlast them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.kube_cluster import control_plane, crashing, volcano
from tests.kube_cluster.island import Island
from tests.kube_cluster.jobs import gang
from tests.kube_cluster.programs import Programs
from tests.kubectl import binaries
from tests.kubectl.harness import Kubectl
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kube_cluster.control_plane import Address

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("recovery"),
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(control_plane.absence()), reason=control_plane.absence() or "there is a control plane"),
]

DAEMONS = ("vc-scheduler", "vc-controller-manager", "vc-webhook-manager")
AUDIT = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts:volcano-system"]
  verbs: [list]
- level: None
"""


@dataclass(frozen=True)
class Place:
    root: Path
    programs: Programs
    address: Address
    kubectl: Kubectl

    def runs(self, name: str, members: int = 2) -> None:
        """A gang can be submitted, is placed and runs."""
        eventually(f"{name} to be taken", lambda: self.submitted(name, members))
        eventually(f"{name} to run", lambda: self.phase(name) == "Running")
        self.kubectl("delete", "vcjob", name, "--wait=false")

    def submitted(self, name: str, members: int) -> bool:
        try:
            self.kubectl.create(gang(name, members))
        except AssertionError as error:
            return "already exists" in str(error)
        return True

    def phase(self, name: str) -> str:
        status = self.kubectl.get("vcjob", name).get("status") or {}
        return str((status.get("state") or {}).get("phase", ""))

    def pids(self) -> dict[str, int]:
        return {name: self.programs.process_id(name) for name in DAEMONS}

    def lists(self) -> Counter[tuple[str, str]]:
        """By daemon and kind, the first pages only."""
        found: Counter[tuple[str, str]] = Counter()
        for line in (self.root / "audit.log").read_text().splitlines():
            entry = json.loads(line)
            if "continue=" not in entry["requestURI"] and "fieldSelector" not in entry["requestURI"]:
                found[entry["userAgent"], entry["objectRef"]["resource"]] += 1
        return found

    @contextmanager
    def outlived(self, lists: int = 0) -> Iterator[None]:
        """The daemons are the same processes afterwards, and none listed any kind more than `lists` times."""
        pids, before = self.pids(), self.lists()
        yield
        assert self.pids() == pids
        assert [name for name in DAEMONS if not self.programs.lives(name)] == []
        more = {what: count for what, count in (self.lists() - before).items() if count > lists}
        assert more == {}

    @contextmanager
    def paused(self, name: str) -> Iterator[None]:
        os.kill(self.programs.process_id(name), signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.programs.process_id(name), signal.SIGCONT)

    def await_api(self) -> None:
        eventually("the API server", lambda: self.address.get("/readyz") == "ok")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("recovery")
    policy = root / "audit.yaml"
    policy.write_text(AUDIT)
    audit = f"--audit-policy-file={policy}", f"--audit-log-path={root / 'audit.log'}"
    with Programs(root) as programs:
        address = control_plane.start(root, programs, options=audit)
        volcano.start(root, programs, address, crashing.LEASE)
        made = Place(root, programs, address, Kubectl(binaries.installed(), address.kubeconfig, root))
        made.runs("first")
        yield made


def test_an_etcd_that_stalls_for_longer_than_the_lease(place: Place) -> None:
    with place.outlived():
        with place.paused("etcd"):
            time.sleep(6)
        place.await_api()
        place.runs("stalled")


def test_an_api_server_that_is_away_for_longer_than_the_lease(place: Place) -> None:
    """It has forgotten its history (410): every kind is listed once more, and not again and again."""
    with place.outlived(lists=2):
        place.programs.kill("kube-apiserver")
        time.sleep(6)
        place.programs.restart("kube-apiserver")
        place.await_api()
        place.runs("away")


def test_webhooks_that_do_not_answer(place: Place) -> None:
    """Creations wait for them and fail; what is in the cluster goes on, and what was refused comes back."""
    place.kubectl.create(gang("before", 2))
    eventually("the job to run", lambda: place.phase("before") == "Running")
    with place.outlived():
        with place.paused("vc-webhook-manager"):
            place.kubectl("delete", "pod", "--selector", "volcano.sh/job-name=before", "--wait=false")
            time.sleep(5)
        eventually("the pod to be made again", lambda: place.phase("before") in ("Running", "Restarting"))
        place.runs("after")
    place.kubectl("delete", "vcjob", "before", "--wait=false")


@pytest.fixture
def island(place: Place) -> Iterator[Island]:
    """A network of its own, for a standby scheduler that is started there."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces are for root, with the command ip")
    with Island(place.root, place.programs, place.address).joined() as made:
        eventually("the island to wait for the lease", lambda: "waits for the lease" in made.log())
        yield made


def test_a_leader_that_is_cut_off_stands_by_and_comes_back(place: Place, island: Island) -> None:
    with place.paused("vc-scheduler"):
        eventually("the island to lead", lambda: "leads with the lease" in island.log())
        place.runs("led-from-the-island")
    with place.outlived():
        island.cut()
        place.runs("led-from-the-mainland")
        eventually("the island to stand by", lambda: "standing by" in island.log())
        island.mend()
        with place.paused("vc-scheduler"):
            eventually("the island to lead again", lambda: island.log().count("leads with the lease") == 2)
            place.runs("led-from-the-island-again")
    assert place.programs.lives("vc-scheduler-island")
