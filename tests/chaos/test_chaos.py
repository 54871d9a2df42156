"""Any process killed, paused or restarted at any moment, under gangs, preemption, restarts and cancellations.

What the API server wrote down must hold at every version: see `history` and `invariants`. VOLCANO_SEED repeats a run as
far as processes can be repeated; VOLCANO_CHAOS_ROUNDS makes it longer.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.chaos import history, invariants
from tests.chaos.load import NAMESPACE, Load
from tests.kube_cluster import control_plane, crashing, volcano
from tests.kube_cluster.programs import Programs
from volcano.api import quantity
from volcano.api.resources import COMMANDS, CONFIGMAPS, JOBS, NODES, PODGROUPS, PODS, Resource
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.errors import ApiError
from volcano.kube.transport import HttpTransport

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kube_cluster.control_plane import Address

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("chaos"), pytest.mark.timeout(900)]

STANDBYS = ("vc-scheduler-standby", "vc-controller-manager-standby")
PROCESSES = (*crashing.Kubernetes.victims, *STANDBYS)
API_SECONDS = 300.0
"""It starts anew again and again, perhaps on a machine that has other things to do."""
SETTLE_SECONDS = 240.0
"""In which it may start anew once more, and the leases of two dead leaders run out."""
DONE = ("Completed", "Aborted")
HALF_GANG_SECONDS = 60.0
"""A killed leader's lease, its successor's first cycle, and the next try to bind, several times in a row."""
PREEMPTING = """\
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
    arguments:
      overcommit-factor: 10.0
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""


class Cluster:
    """Kubernetes with our daemons, and what can be done to a process of it."""

    def __init__(self, programs: Programs, address: Address) -> None:
        self.address = address
        self._programs = programs

    def disturb(self, dice: random.Random) -> str:
        """Do something to one process; what was done to which."""
        name = dice.choice(PROCESSES)
        manner = dice.choice((self._kill, self._pause, self._restart))
        manner(name, dice)
        return f"{manner.__name__.strip('_')} {name}"

    def await_api(self) -> None:
        deadline = time.monotonic() + API_SECONDS
        while not self._is_ready():
            assert time.monotonic() < deadline, f"the API server was not ready for {API_SECONDS:.0f} s"
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        self._programs.restart_ended()
        return self.address.get("/readyz") == "ok"

    def _kill(self, name: str, dice: random.Random) -> None:
        self._programs.restart(name)

    def _restart(self, name: str, dice: random.Random) -> None:
        self._programs.stop(name)
        self._programs.restart(name)

    def _pause(self, name: str, dice: random.Random) -> None:
        """Longer than a lease, at times: who wakes up must see that another leads."""
        pid = self._programs.process_id(name)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(dice.uniform(0.2, 4.0))
            os.kill(pid, signal.SIGCONT)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    if why := control_plane.absence():
        pytest.skip(why)
    with Programs(tmp_path) as programs:
        address = control_plane.start(tmp_path, programs, options=history.OPTIONS)
        volcano.start(tmp_path, programs, address, crashing.LEASE)
        volcano.start_scheduler(tmp_path, programs, address, STANDBYS[0], crashing.LEASE)
        volcano.start_controllers(programs, address, STANDBYS[1], crashing.LEASE)
        (tmp_path / "scheduler.yaml").write_text(PREEMPTING)
        yield Cluster(programs, address)


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(12, id="short"),
        pytest.param(
            int(os.environ.get("VOLCANO_CHAOS_ROUNDS", "200")),
            id="long",
            marks=[pytest.mark.soak, pytest.mark.timeout(3600)],
        ),
    ],
)
def test_every_promise_is_kept(cluster: Cluster, tmp_path: Path, rounds: int) -> None:
    seed = int(os.environ.get("VOLCANO_SEED") or random.randrange(2**32))
    print(f"VOLCANO_SEED={seed}")
    dice = random.Random(seed)
    kubeconfig = cluster.address.kubeconfig
    (tmp_path / "marks").mkdir()
    load = Load(kubeconfig, random.Random(seed), tmp_path / "marks")
    recorder = history.Recorder(cluster.address.etcd, NAMESPACE)
    done: Counter[str] = Counter()

    with recorder.running():
        with load.running():
            for _ in range(rounds):
                time.sleep(dice.uniform(0.3, 1.5))
                done[cluster.disturb(dice)] += 1
                cluster.await_api()
        account = load.account
        jobs, milli_cpu = asyncio.run(settled(cluster, account.ends))
        broken = [*invariants.wrong_ends(jobs, account.ends), *invariants.disobeyed(jobs, account.restarts)]
        if broken:
            print("\n".join(asyncio.run(left_standing(cluster, jobs))))
        broken += invariants.orphans(asyncio.run(emptied(cluster)))

    changes = recorder.changes()
    assert {change.kind for change in changes} == {kind.plural for kind in history.KINDS}
    broken += invariants.over_allocated(changes, milli_cpu)
    broken += invariants.bound_twice(changes)
    broken += invariants.half_gangs(changes, account.minimum, HALF_GANG_SECONDS)
    broken += [f"not seen: {gap}" for gap in recorder.gaps]
    print(
        f"{dict(done)}; {len(changes)} changes; {len(account.ends)} jobs, {account.unanswered} "
        "requests without an answer"
    )
    if broken:
        (tmp_path / "history.json").write_text(json.dumps([dataclasses.asdict(change) for change in changes]))
    assert not broken, "\n".join(broken)


async def settled(
    cluster: Cluster, ends: dict[str, tuple[str, ...]]
) -> tuple[dict[str, dict[str, Any]], dict[str, int]]:
    """The jobs by name, once each has come to an end; and the milli-CPU of the nodes."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        found, nodes = await listed(cluster, JOBS), await listed(cluster, NODES, None)
        jobs = {job["metadata"]["name"]: job for job in found}
        if not list(invariants.wrong_ends(jobs, ends)) or time.monotonic() > deadline:
            return jobs, {
                node["metadata"]["name"]: quantity.milli(node["status"]["allocatable"]["cpu"]) for node in nodes
            }
        await asyncio.sleep(0.5)


async def left_standing(cluster: Cluster, jobs: dict[str, dict[str, Any]]) -> list[str]:
    """Jobs that are not done, and all podgroups and pods that hold something: what the cluster waits for."""
    waiting = [
        f"job {name}: {job.get('status')}" for name, job in jobs.items() if invariants.job_phase(job) not in DONE
    ]
    groups, pods = await listed(cluster, PODGROUPS), await listed(cluster, PODS)
    holding = [pod for pod in pods if invariants.phase(pod) not in invariants.ENDED]
    return [*waiting, *(f"  {item['metadata']['name']}: {item.get('status')}" for item in (*groups, *holding))]


async def emptied(cluster: Cluster) -> dict[str, list[dict[str, Any]]]:
    """What is left of the jobs, some time after all were deleted."""
    client = Client(HttpTransport(config.load(str(cluster.address.kubeconfig))))
    try:
        await client.delete_collection(JOBS, NAMESPACE, propagation="Background")
    finally:
        await client.close()
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        left = {kind.plural: await listed(cluster, kind) for kind in (JOBS, PODS, PODGROUPS, COMMANDS, CONFIGMAPS)}
        left["configmaps"] = [item for item in left["configmaps"] if item["metadata"]["name"] != "kube-root-ca.crt"]
        if not any(left.values()) or time.monotonic() > deadline:
            return left
        await asyncio.sleep(0.5)


async def listed(cluster: Cluster, kind: Resource[Any], namespace: str | None = NAMESPACE) -> list[dict[str, Any]]:
    while True:
        cluster.await_api()
        client = Client(HttpTransport(config.load(str(cluster.address.kubeconfig))))
        try:
            return (await client.list(kind.untyped, namespace)).items
        except (ApiError, OSError, TimeoutError):
            continue
        finally:
            await client.close()
