"""A wall clock that is set by an hour and back, under all of local mode: its API server, node and controllers.

As on Kubernetes (`tests/kube_cluster/test_clock_steps.py`), what waits for a time of day goes by the clock; what waits
for a while waits as long as it was told; and nothing starts or ends twice.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.harness import Cluster
from tests.kube_cluster.jobs import gang, hourly, patient
from tests.kube_cluster.skewed import Skew, now
from tests.waiting import eventually
from volcano.api.resources import BATCH_JOBS, CRON_JOBS, JOBS, NODES, PODS, SERVICE_ACCOUNTS
from volcano.kube.client import Client
from volcano.local.probe import Unreachable

pytestmark = [pytest.mark.xdist_group("trouble"), pytest.mark.timeout(600)]

DAEMONS = ("apiserver", "vc-scheduler", "vc-controller-manager", "node")
HOUR = datetime.timedelta(hours=1)
SUCCESS = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox", "command": ["true"]}]}


class Skewed(Cluster):
    """A cluster all of whose programs see the time of `skew`."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.skew = Skew(home / "skew")
        self._site = self.skew.site(home / "site")

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join(filter(None, (str(self._site), os.environ.get("PYTHONPATH"))))
        return {**super().environment, "PYTHONPATH": path}

    def put(self, ahead: datetime.timedelta, step: str) -> None:
        """Set the clock, and wait until the controllers have seen it."""
        self.skew.set(ahead.total_seconds())
        words = f"the clock of this machine was set by {step}"
        for name in ("vc-controller-manager", "kube-controllers"):
            eventually(f"{name} to see its clock", lambda name=name: words in self.log(name))


@pytest.fixture
def skewed(tmp_path: Path) -> Iterator[Skewed]:
    cluster = Skewed(tmp_path)
    cluster("local", "up", "--detach", "--cpus", "4")
    try:
        yield cluster
    finally:
        cluster("local", "down")


class Watch:
    """One watch of pods that goes on all the time: what was made, by name, and whether it ended."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.began, self.ended = threading.Event(), False
        self._stop = threading.Event()

    @contextmanager
    def on(self, cluster: Cluster) -> Iterator[None]:
        thread = threading.Thread(target=lambda: cluster.talk(self._follow))
        thread.start()
        assert self.began.wait(60)
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    async def _follow(self, client: Client) -> None:
        listing = await client.list(PODS, "default")
        watching = asyncio.create_task(self._read(client, listing.resource_version))
        self.began.set()
        await asyncio.to_thread(self._stop.wait)
        self.ended = watching.done()
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching

    async def _read(self, client: Client, version: str) -> None:
        async for event in client.watch(PODS, "default", resource_version=version):
            if event.type == "ADDED":
                self.made[event.object.metadata.name] += 1


def test_an_hour_forward_and_back(skewed: Skewed) -> None:
    watch = Watch()
    token = issued(skewed)
    assert accepts(skewed, token)
    began = now()
    with watch.on(skewed):
        skewed.create(JOBS, gang("expiring", 1, "true", ttlSecondsAfterFinished=1800))
        skewed.create(JOBS, gang("kept", 1, "true", ttlSecondsAfterFinished=7200))
        skewed.create(JOBS, patient("patient"))
        skewed.create(JOBS, gang("across", 2))
        skewed.create(JOBS, simulated("pretended", seconds=1800))
        skewed.create(CRON_JOBS, hourly("hourly", began + HOUR / 2))
        skewed.create(BATCH_JOBS, batch("batch-expiring", 1800))
        skewed.create(BATCH_JOBS, batch("batch-kept", 7200))
        for name in ("expiring", "kept"):
            eventually(f"{name} to complete", lambda name=name: skewed.phase(name) == "Completed")
        for name in ("across", "pretended"):
            eventually(f"{name} to run", lambda name=name: skewed.phase(name) == "Running")
        eventually("a pod of the patient job to fail", lambda: skewed.read(JOBS, "patient")["status"].get("failed"))
        for name in ("batch-expiring", "batch-kept"):
            eventually(f"{name} to complete", lambda name=name: is_complete(skewed, name))
        pids = {name: skewed.pid(name) for name in DAEMONS}

        skewed.put(HOUR, "+3600")
        eventually("the hourly job", lambda: started(skewed))
        eventually("the job that is due to go", lambda: goes(skewed, JOBS, "expiring"))
        eventually("the other one", lambda: goes(skewed, BATCH_JOBS, "batch-expiring"))
        skewed.create(JOBS, gang("ahead", 2))
        eventually("a job to run", lambda: skewed.phase("ahead") == "Running")
        assert began + HOUR <= made_at(skewed, "ahead") <= now() + HOUR
        assert not accepts(skewed, token)
        later = issued(skewed)
        assert accepts(skewed, later)

        began = now().replace(microsecond=0)
        skewed.put(HOUR * 0, "-3600")
        skewed.create(JOBS, gang("behind", 2))
        eventually("a job to run", lambda: skewed.phase("behind") == "Running")
        assert began <= made_at(skewed, "behind") <= now()
        assert accepts(skewed, token)
        skewed("job", "suspend", "--name", "across")
        eventually("the pods to be gone", lambda: skewed.phase("across") == "Aborted")
        assert {name: skewed.pid(name) for name in DAEMONS} == pids

    assert not watch.ended
    assert set(watch.made.values()) == {1}
    pods = Counter(name.rsplit("-", 2)[0] for name in watch.made if "-work-" in name)
    [at_the_half_hour] = started(skewed)
    twice = dict.fromkeys(("patient", "across", "ahead", "behind"), 2)
    assert pods == {"expiring": 1, "kept": 1, "pretended": 1, at_the_half_hour: 1, **twice}
    assert {skewed.phase(name) for name in ("patient", "pretended", "ahead", "behind")} == {"Running"}
    assert skewed.phase("kept") == "Completed"
    assert not goes(skewed, JOBS, "kept")
    assert not goes(skewed, BATCH_JOBS, "batch-kept")
    assert all(is_ready(node) for node in skewed.list(NODES, None))


def simulated(name: str, seconds: int) -> dict[str, Any]:
    """A job of one pod that is only pretended to run."""
    job = gang(name, 1)
    marks = {"volcano.sh/simulate": "true", "volcano.sh/simulate-duration": f"{seconds}s"}
    job["spec"]["tasks"][0]["template"]["metadata"] = {"annotations": marks}
    return job


def batch(name: str, seconds: int) -> dict[str, Any]:
    """A Job of Kubernetes' own kind that succeeds and is to go so much later."""
    spec = {"ttlSecondsAfterFinished": seconds, "template": {"spec": SUCCESS}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def is_complete(cluster: Cluster, name: str) -> bool:
    conditions = cluster.read(BATCH_JOBS, name).get("status", {}).get("conditions") or ()
    return any(each["type"] == "Complete" for each in conditions)


def started(cluster: Cluster) -> list[str]:
    """The jobs of the cronjob."""
    names = [str(job["metadata"]["name"]) for job in cluster.list(JOBS)]
    return [name for name in names if name.startswith("hourly-")]


def goes(cluster: Cluster, resource: Any, name: str) -> bool:
    """The job is deleted; its pods may go first."""
    try:
        return "deletionTimestamp" in cluster.read(resource, name)["metadata"]
    except Unreachable:
        return True


def made_at(cluster: Cluster, job: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(cluster.read(JOBS, job)["metadata"]["creationTimestamp"])


def issued(cluster: Cluster) -> str:
    """A token that is good for ten minutes."""
    path = SERVICE_ACCOUNTS.path("default", "default", "token")
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}

    async def ask(client: Client) -> str:
        answer = await client.raw("POST", path, (), msgspec.json.encode(body))
        return str(msgspec.json.decode(answer.content)["status"]["token"])

    return str(cluster.talk(ask))


def accepts(cluster: Cluster, token: str) -> bool:
    """Whether the API server holds the token for good."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}

    async def ask(client: Client) -> bool:
        answer = await client.raw(
            "POST", "/apis/authentication.k8s.io/v1/tokenreviews", (), msgspec.json.encode(review)
        )
        return bool(msgspec.json.decode(answer.content)["status"].get("authenticated"))

    return bool(cluster.talk(ask))


def is_ready(node: dict[str, Any]) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"]["conditions"])
