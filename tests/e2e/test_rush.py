"""A rush of small jobs: a queue's next podgroups are let in before they are there, and its users see nothing odd."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.harness import SECONDS, Cluster, vcjob
from tests.e2e.rush import INQUEUE, Flow
from tests.waiting import eventually, until
from volcano.api.keys import ADMISSION_CREDIT
from volcano.api.resources import JOBS, PODGROUPS, PODS, QUEUES
from volcano.kube.client import Client

pytestmark = pytest.mark.xdist_group("e2e")

NAMESPACE = "rush"
BEFORE, AFTER = 120, 30
"""Jobs that the scheduler hears of all at once, however slow the machine is, and jobs that come afterwards."""


@contextmanager
def queue(cluster: Cluster, name: str, **spec: object) -> Iterator[str]:
    """A queue that is open; its manifest."""
    manifest = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }
    path = cluster.write(f"{name}.yaml", manifest)
    cluster("apply", "-f", path)
    eventually("the queue to be open", lambda: state(cluster, name) == "Open")
    yield path
    cluster("queue", "operate", "-n", name, "-a", "close")
    eventually("the queue to be closed", lambda: state(cluster, name) == "Closed")
    cluster("queue", "delete", "-n", name)


def state(cluster: Cluster, queue: str) -> str:
    found: str = cluster.read(QUEUES, queue).get("status", {}).get("state", "")
    return found


def credit(cluster: Cluster, queue: str) -> str | None:
    found: str | None = cluster.read(QUEUES, queue)["metadata"].get("annotations", {}).get(ADMISSION_CREDIT)
    return found


def test_the_last_jobs_of_a_rush_find_themselves_let_in(local_cluster: Cluster) -> None:
    local_cluster.ensure_namespace(NAMESPACE)
    with queue(local_cluster, "rush"):
        jobs, born = local_cluster.talk(lambda client: rush(client, local_cluster))

        assert list(born.values())[:BEFORE] == ["Pending"] * BEFORE
        eventually("all jobs to be completed", lambda: phases(local_cluster) == ["Completed"] * jobs, SECONDS)
        assert len(local_cluster.list(PODS, NAMESPACE)) == jobs
        eventually("the credit to be taken back", lambda: credit(local_cluster, "rush") is None)
        local_cluster.talk(lambda client: client.delete_collection(JOBS, NAMESPACE))
        eventually("the podgroups to be gone", lambda: not local_cluster.list(PODGROUPS, NAMESPACE))


def phases(cluster: Cluster) -> list[str]:
    return [job.get("status", {}).get("state", {}).get("phase", "") for job in cluster.list(JOBS, NAMESPACE)]


async def rush(client: Client, cluster: Cluster) -> tuple[int, dict[str, str]]:
    """Jobs come until some are let in before they are there: how many, and how the podgroup of each was made."""
    flow = Flow(client, NAMESPACE, lambda number: vcjob(f"small-{number}", "true", cpu="1m", queue="rush"))
    async with flow.watched(), asyncio.timeout(SECONDS):
        while INQUEUE not in flow.born.values():  # a second time where the controllers hear of it when it is over
            with paused(cluster, "vc-scheduler"):
                await flow.submit(BEFORE)
                await flow.until_born()
            await until(lambda: credit(cluster, "rush"))
            await flow.submit(AFTER)
            await flow.until_born()
    return flow.count, flow.born


@contextmanager
def paused(cluster: Cluster, daemon: str) -> Iterator[None]:
    process = cluster.pid(daemon)
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


# What users of a queue see of it


@pytest.fixture
def credited(cluster: Cluster) -> Iterator[str]:
    """The manifest of a queue that has a credit, given by a scheduler that nobody here knows: it stays."""
    each = {"cpu": "1"}
    given = {"id": "a", "schedulerNames": ["another"], "groups": 256, "each": each, "until": "2026-01-01T12:00:00Z"}
    with queue(cluster, "credited", weight=2, capability={"cpu": "4"}) as path:
        body = {"metadata": {"annotations": {ADMISSION_CREDIT: json.dumps(given)}}}
        cluster.talk(lambda client: client.patch(QUEUES, "credited", body))
        yield path


def test_who_applies_a_queue_during_a_rush_neither_sees_nor_loses_it(cluster: Cluster, credited: str) -> None:
    before = credit(cluster, "credited")
    assert before is not None

    assert cluster("diff", "-f", credited).out == ""
    cluster("apply", "-f", credited)

    assert credit(cluster, "credited") == before


def test_who_looks_at_a_queue_during_a_rush(cluster: Cluster, credited: str) -> None:
    assert "credited" in cluster("queue", "list").out
    assert "credited" in cluster("queue", "get", "-n", "credited").out
    assert ADMISSION_CREDIT not in cluster("queue", "get", "-n", "credited").out


def test_who_writes_back_a_queue_as_it_was_during_a_rush(cluster: Cluster, credited: str) -> None:
    """A backup that is restored has a credit that ended long ago: jobs start as ever."""
    stale = cluster.read(QUEUES, "credited")["metadata"]["annotations"][ADMISSION_CREDIT]
    mine = stale.replace('"another"', '"volcano"')
    body = {"metadata": {"annotations": {ADMISSION_CREDIT: mine}}}
    cluster.talk(lambda client: client.patch(QUEUES, "credited", body))

    cluster.create(JOBS, vcjob("after-backup", "true", queue="credited"))

    eventually("the job to be completed", lambda: cluster.phase("after-backup") == "Completed")
    cluster.talk(lambda client: client.delete(JOBS, "after-backup", "default"))
