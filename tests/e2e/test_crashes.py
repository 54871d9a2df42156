"""kill -9 at random moments of a large job: it completes, no pod runs twice, no acknowledged write is lost."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.harness import Cluster, Document, eventually, running, vcjob
from volcano.api.resources import CONFIGMAPS, JOBS
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.errors import ApiError
from volcano.kube.transport import HttpTransport
from volcano.local.cluster import running as supervisor_of
from volcano.local.probe import Unreachable

pytestmark = pytest.mark.xdist_group("crashes")

DAEMONS = ("apiserver", "vc-scheduler", "vc-controller-manager", "node")
SUPERVISOR = "supervisor"
FLAGS = ("--cpus", "2")


@dataclass
class Writer:
    """Creates objects and counts up another one as fast as it is acknowledged, whatever happens to the server."""

    kubeconfig: Path
    created: list[str] = field(default_factory=list)
    count: int = 0
    failures: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    async def write(self) -> None:
        attempt = 0
        while not self._stop.is_set():
            client = Client(HttpTransport(config.load(str(self.kubeconfig))), user_agent="writer")
            with suppress(ApiError, OSError, TimeoutError):
                while not self._stop.is_set():
                    attempt += 1
                    name = f"written-{attempt}"
                    await client.create(CONFIGMAPS.untyped, {"metadata": {"name": name}}, "default")
                    self.created.append(name)
                    data = {"data": {"count": str(attempt)}}
                    await client.patch(CONFIGMAPS.untyped, "counter", data, "default")
                    self.count = attempt
                    await asyncio.sleep(0.005)
            self.failures += 1
            await client.close()
            await asyncio.sleep(0.02)

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=lambda: asyncio.run(self.write()))
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()


@pytest.mark.parametrize(
    ("pods", "kills"),
    [
        pytest.param(60, 4, id="short"),
        pytest.param(200, 10, id="long", marks=[pytest.mark.soak, pytest.mark.timeout(600)]),
    ],
)
def test_a_job_survives_every_crash(tmp_path: Path, pods: int, kills: int) -> None:
    seed = int(os.environ.get("VOLCANO_SEED") or random.randrange(2**32))
    print(f"VOLCANO_SEED={seed}")
    dice = random.Random(seed)
    runs = tmp_path / "runs"
    runs.mkdir()
    with running(tmp_path, *FLAGS) as cluster:
        cluster.create(CONFIGMAPS, {"metadata": {"name": "counter"}, "data": {"count": "0"}})
        writer = Writer(cluster.layout.kubeconfig)
        with writer.running():
            cluster.create(JOBS, job(runs, pods))
            eventually("the first pods to run", lambda: any(runs.iterdir()))
            for victim in victims(dice, kills):
                time.sleep(dice.uniform(0.1, 0.9))
                print(f"{len(list(runs.iterdir()))} of {pods} pods have started: kill -9 {victim}")
                assert phase(cluster) != "Completed", "the job was over before the crash"
                crash(cluster, victim)
            eventually("the job to complete", lambda: phase(cluster) == "Completed", 120 + pods)
        status = cluster.read(JOBS, "survivor")["status"]
        assert (status["succeeded"], status.get("failed", 0), status.get("retryCount", 0)) == (pods, 0, 0)
        assert {file.name: file.read_text() for file in runs.iterdir()} == {
            f"survivor-work-{index}": "ran\n" for index in range(pods)
        }
        stored = {item["metadata"]["name"] for item in cluster.list(CONFIGMAPS)}
        assert set(writer.created) - stored == set()
        assert int(cluster.read(CONFIGMAPS, "counter")["data"]["count"]) >= writer.count
        print(f"{len(writer.created)} acknowledged writes are there, {writer.failures} interruptions")


def job(runs: Path, pods: int) -> Document:
    """A tenth of the pods must start together; twenty have room at a time."""
    command = f"echo ran >> {runs}/$HOSTNAME; sleep 1"
    return vcjob("survivor", "sh", "-c", command, replicas=pods, cpu="100m", minAvailable=pods // 10)


def victims(dice: random.Random, kills: int) -> list[str]:
    """Every daemon when there are kills enough, the supervisor once, in any order."""
    order = [*dice.sample(DAEMONS, len(DAEMONS)), *dice.choices(DAEMONS, k=kills)][: kills - 1]
    return dice.sample([*order, SUPERVISOR], kills)


def crash(cluster: Cluster, victim: str) -> None:
    """kill -9 one process. Daemons are started again by the supervisor, the supervisor by its user."""
    if victim != SUPERVISOR:
        cluster.kill(victim)
        return
    pid = supervisor_of(cluster.layout)
    assert pid
    os.kill(pid, signal.SIGKILL)
    cluster("local", "up", "--detach", *FLAGS)


def phase(cluster: Cluster) -> str:
    with suppress(Unreachable):
        return cluster.phase("survivor")
    return ""
