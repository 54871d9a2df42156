"""A tree of queues is closed and opened while jobs arrive: states spread, jobs are taken or refused, none is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.e2e.harness import SECONDS, Cluster, vcjob
from tests.waiting import eventually
from volcano.api.resources import COMMANDS, JOBS, QUEUES
from volcano.kube.client import Client
from volcano.kube.errors import BadRequest

pytestmark = pytest.mark.xdist_group("e2e")

LEAVES = ("left", "right")
ROUNDS = 3


@pytest.fixture
def tree(cluster: Cluster) -> Iterator[Cluster]:
    """`top` above `left` and `right`, open."""
    for name, parent in (("top", "root"), *((leaf, "top") for leaf in LEAVES)):
        cluster.create(QUEUES, {"metadata": {"name": name}, "spec": {"weight": 1, "parent": parent}})
    are(cluster, "Open")
    yield cluster
    cluster.talk(lambda client: operate(client, "CloseQueue"))
    are(cluster, "Closed")
    for name in (*LEAVES, "top"):
        cluster.talk(lambda client, name=name: client.delete(QUEUES, name))


def state(cluster: Cluster, queue: str) -> str:
    found: str = cluster.read(QUEUES, queue).get("status", {}).get("state", "")
    return found


def are(cluster: Cluster, *states: str) -> None:
    eventually(f"all queues to be {states}", lambda: all(state(cluster, name) in states for name in ("top", *LEAVES)))


async def submit(client: Client, number: int, refused: list[str]) -> str | None:
    """The name of the job, if its queue takes it."""
    job = vcjob(f"leaf-{number}", "true", queue=LEAVES[number % 2], cpu="10m")
    try:
        await client.create(JOBS.untyped, job, "default")
    except BadRequest as error:
        refused.append(str(error))
        return None
    return str(job["metadata"]["name"])


async def operate(client: Client, action: str) -> None:
    queue = await client.get(QUEUES, "top")
    target = {"apiVersion": QUEUES.api_version, "kind": QUEUES.kind, "name": "top", "uid": queue.metadata.uid}
    order = {"metadata": {"generateName": "order-", "namespace": "default"}, "action": action, "target": target}
    await client.create(COMMANDS.untyped, order)


def test_a_tree_is_closed_and_opened_while_jobs_arrive(tree: Cluster) -> None:
    refused: list[str] = []

    async def arrive_while_it_changes(client: Client) -> list[str]:
        taken, number = [], 0
        for _ in range(ROUNDS):
            for action in ("CloseQueue", "OpenQueue"):
                await operate(client, action)
                for _ in range(4):
                    name = await submit(client, number, refused)
                    taken += [name] if name else []
                    number += 1
                    await asyncio.sleep(0.05)
        return taken

    taken = tree.talk(arrive_while_it_changes)
    are(tree, "Open")
    taken.append(eventually("a job to be taken again", lambda: tree.talk(lambda client: submit(client, -1, refused))))
    assert all("can only submit job to queue with state `Open`" in message for message in refused)
    eventually("the jobs to end", lambda: all(tree.phase(name) == "Completed" for name in taken), SECONDS)

    for name in taken:
        tree.talk(lambda client, name=name: client.delete(JOBS, name, "default"))
