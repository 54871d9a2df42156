"""A rush beside controllers that know nothing of credits, as Volcano's own: all goes on as if there were none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.scheduler.daemon.bench import bench
from tests.waiting import until
from volcano.api import credit
from volcano.api.meta import OwnerReference
from volcano.api.resources import PODGROUPS, QUEUES
from volcano.api.scheduling import PodGroup
from volcano.kube.client import Client
from volcano.scheduler.daemon.credit import RENEWED_SECONDS, VALID_SECONDS
from volcano.testing.builders import gang

JOB = OwnerReference(api_version="batch.volcano.sh/v1alpha1", kind="Job", name="train", uid="u", controller=True)
AT_ONCE = 60
EVERY_SECONDS = 3.0
WAVES = 11


def test_podgroups_are_let_in_one_by_one_and_credits_are_written_as_rarely_as_they_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asyncio.run(rush(monkeypatch))


async def rush(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 1000.0
    async with bench(cpu=1000) as b, written(b.client) as credits_:
        monkeypatch.setattr(b.scheduler.credits, "_clock", lambda: seconds)
        for wave in range(WAVES):
            for number in range(AT_ONCE):
                await b.client.create(PODGROUPS, podgroup(f"train-{wave}-{number}"))
            await until(lambda: all_are_let_in(b.client))
            seconds += EVERY_SECONDS
        await until(lambda: len(credits_) > 1)

    renewals = (WAVES - 1) * EVERY_SECONDS // (VALID_SECONDS - RENEWED_SECONDS)
    assert len(credits_) <= 1 + renewals


def podgroup(name: str) -> PodGroup:
    found = gang(name, pods=[], queue="default", phase="Pending", min_resources={"cpu": "1m"}).pod_group
    found.metadata.owner_references = [JOB]
    return found


async def all_are_let_in(client: Client) -> bool:
    return all(one.status.phase == "Inqueue" for one in (await client.list(PODGROUPS)).items)


@asynccontextmanager
async def written(client: Client) -> AsyncIterator[dict[str, int]]:
    """The credits of queues, each with the groups it lets in, as they are written."""
    start = (await client.list(QUEUES)).resource_version
    found: dict[str, int] = {}

    async def watch() -> None:
        async for event in client.watch(QUEUES, resource_version=start):
            if told := credit.of(event.object.metadata):
                found[told.id] = told.groups

    watching = asyncio.create_task(watch())
    try:
        yield found
    finally:
        watching.cancel()
