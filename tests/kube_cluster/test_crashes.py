"""kill -9 of every process in any order under a mixed load: nothing acknowledged is lost, nothing runs twice."""

from __future__ import annotations

import asyncio
import os
import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.kube_cluster import control_plane, crashing
from tests.kube_cluster.load import COUNTER, NAMESPACE, Load
from tests.waiting import eventually
from volcano.api.resources import CONFIGMAPS, JOBS, PODS, Resource
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.errors import ApiError
from volcano.kube.transport import HttpTransport

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kube_cluster.crashing import Crashing

pytestmark = [pytest.mark.xdist_group("crashes"), pytest.mark.timeout(900)]

PATIENCE = 0.7
"""How often the next process dies only when the API server is back."""
JOBS_PER_ROUND = 6
SETTLE_SECONDS = 240.0
"""The API server alone may need more than a minute to come back on a busy machine."""


@pytest.fixture(params=["local", pytest.param("kube", marks=pytest.mark.kube)])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Crashing]:
    if request.param == "kube" and (why := control_plane.absence()):
        pytest.skip(why)
    make = crashing.kube if request.param == "kube" else crashing.local
    yield from make(tmp_path)


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(10, id="short"),
        pytest.param(100, id="long", marks=[pytest.mark.soak, pytest.mark.timeout(1800)]),
    ],
)
def test_nothing_is_lost_or_run_twice(cluster: Crashing, tmp_path: Path, rounds: int) -> None:
    seed = int(os.environ.get("VOLCANO_SEED") or random.randrange(2**32))
    print(f"VOLCANO_SEED={seed}")
    dice = random.Random(seed)
    runs = tmp_path / "runs"
    runs.mkdir()
    load = Load(cluster.kubeconfig, runs, JOBS_PER_ROUND * rounds)

    with load.running():
        eventually("the first pods to run", lambda: any(runs.iterdir()))
        for number, victim in enumerate(victims(dice, cluster.victims, rounds), 1):
            time.sleep(dice.uniform(0.1, 0.9))
            print(f"{number}: {len(list(runs.iterdir()))} pods have started: kill -9 {victim}")
            cluster.crash(victim)
            if dice.random() < PATIENCE:
                cluster.await_api()
    cluster.await_api()
    stored = asyncio.run(settled(cluster))

    for kind, names in load.acknowledged.items():
        assert names - set(stored[kind]) == set(), f"{kind} are lost"
    assert int(stored["configmaps"][COUNTER]["data"]["count"]) >= load.count
    for job in stored["jobs"].values():
        status = job["status"]
        replicas = job["spec"]["tasks"][0]["replicas"]
        counts = (status["succeeded"], status.get("failed", 0), status.get("retryCount", 0))
        assert counts == (replicas, 0, 0), f"{job['metadata']['name']}: {status}"
    ran = {file.name: file.read_text() for file in runs.iterdir()}
    assert ran == dict.fromkeys(stored["pods"], "ran\n")
    print(f"{sum(map(len, load.acknowledged.values()))} acknowledged writes are there, {len(ran)} pods ran once")
    print(f"{load.interruptions} interruptions")


def victims(dice: random.Random, names: tuple[str, ...], rounds: int) -> list[str]:
    """Each process at least once when there are rounds enough, in any order."""
    return dice.sample([*names, *dice.choices(names, k=rounds)][:rounds], rounds)


async def settled(cluster: Crashing) -> dict[str, dict[str, Any]]:
    """Everything in the namespace by kind and name, once all that was submitted has ended."""
    deadline = time.monotonic() + SETTLE_SECONDS
    client = Client(HttpTransport(config.load(str(cluster.kubeconfig))))
    try:
        while True:
            found = {}
            with suppress(ApiError, OSError, TimeoutError):
                found = {kind.plural: await listed(client, kind) for kind in (CONFIGMAPS, JOBS, PODS)}
                waiting = [name for kind in ("jobs", "pods") for name, item in found[kind].items() if not ended(item)]
                if not waiting:
                    return found
            assert time.monotonic() < deadline, f"still waiting for {waiting}"
            cluster.await_api()
            await asyncio.sleep(0.5)
    finally:
        await client.close()


async def listed(client: Client, kind: Resource[Any]) -> dict[str, Any]:
    return {item["metadata"]["name"]: item for item in (await client.list(kind.untyped, NAMESPACE)).items}


def ended(item: dict[str, Any]) -> bool:
    status = item.get("status") or {}
    return (status.get("phase") or (status.get("state") or {}).get("phase")) in ("Completed", "Succeeded", "Failed")
