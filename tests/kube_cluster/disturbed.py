"""A real cluster that is disturbed by several modules of tests, one after the other.

The audit log of the API server says who listed what. Leases are short, so that the longer disturbances outlast them.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.kube_cluster import control_plane, crashing, volcano
from tests.kube_cluster.jobs import gang
from tests.kube_cluster.programs import Programs
from tests.kubectl import binaries
from tests.kubectl.harness import Kubectl
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from tests.kube_cluster.control_plane import Address

DAEMONS = ("vc-scheduler", "vc-controller-manager", "vc-webhook-manager")
AUDIT = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts:volcano-system"]
  verbs: [list]
- level: Metadata
  verbs: [create]
  resources: [{group: "", resources: [pods, pods/binding]}]
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

    def leads(self, name: str) -> bool:
        """Whether a daemon has the lease, by what it said last: on a busy machine leases change hands at any time."""
        log = self.programs.log(name)
        return log.rfind("leads with the lease") > max(log.rfind("waits for the lease"), log.rfind("standing by"))

    def await_lead(self, name: str) -> None:
        eventually(f"{name} to lead", lambda: self.leads(name))

    def await_standby(self, name: str) -> None:
        eventually(f"{name} to stand by", lambda: not self.leads(name))

    def pids(self, daemons: Iterable[str] = DAEMONS) -> dict[str, int]:
        return {name: self.programs.process_id(name) for name in daemons}

    def lists(self) -> Counter[tuple[str, str]]:
        """By daemon and kind, the first pages only."""
        found: Counter[tuple[str, str]] = Counter()
        for entry in self._audited():
            first = "continue=" not in entry["requestURI"] and "fieldSelector" not in entry["requestURI"]
            if entry["verb"] == "list" and first:
                found[entry["userAgent"], entry["objectRef"]["resource"]] += 1
        return found

    def done_to_pods(self) -> Counter[tuple[str, str]]:
        """How often each pod was made and bound: by what was done, and the pod's name."""
        return self._answered(lambda code: code < 300)

    def _answered(self, code: Callable[[int], bool]) -> Counter[tuple[str, str]]:
        found: Counter[tuple[str, str]] = Counter()
        for entry in self._audited():
            if entry["verb"] == "create" and code(entry["responseStatus"]["code"]):
                about = entry["objectRef"]
                found["bound" if about.get("subresource") == "binding" else "made", about["name"]] += 1
        return found

    def done_to_pods_of(self, jobs: Collection[str]) -> Counter[tuple[str, str]]:
        """The same of the pods of these jobs."""
        return _of(self.done_to_pods(), jobs)

    def were_done_once(self, jobs: Collection[str], members: int) -> None:
        """Each of the pods of these jobs was made and bound, and that once.

        What the server had no time to answer (504) it may have done.
        """
        done, perhaps = self.done_to_pods_of(jobs), _of(self._answered(lambda code: code == 504), jobs)
        assert {what: count for what, count in done.items() if count > 1} == {}
        pods = members * len(jobs)
        assert Counter(what for what, _ in {*done, *perhaps}) == {"made": pods, "bound": pods}

    def who_made_and_bound(self) -> set[tuple[str, str]]:
        """Program and account of all that made pods or bound them."""
        made = [entry for entry in self._audited() if entry["verb"] == "create"]
        return {(entry["userAgent"], entry["user"]["username"]) for entry in made}

    def _audited(self) -> Iterator[dict[str, Any]]:
        for line in (self.root / "audit.log").read_text().splitlines():
            with suppress(json.JSONDecodeError):  # the last one may be on its way
                yield json.loads(line)

    @contextmanager
    def outlived(self, lists: int = 0, daemons: Sequence[str] = DAEMONS) -> Iterator[None]:
        """The daemons are the same processes afterwards, and none listed any kind more than `lists` times."""
        pids, before = self.pids(daemons), self.lists()
        yield
        assert self.pids(daemons) == pids
        assert [name for name in daemons if not self.programs.lives(name)] == []
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
        control_plane.await_api(self.programs, self.address)


def _of(done: Counter[tuple[str, str]], jobs: Collection[str]) -> Counter[tuple[str, str]]:
    return Counter({what: count for what, count in done.items() if what[1].rsplit("-", 2)[0] in jobs})


@pytest.fixture(scope="session")
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
