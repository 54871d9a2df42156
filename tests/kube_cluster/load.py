"""A mixed load that goes on whatever happens to the cluster, and the account of it: what was acknowledged, what ran."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tests.kube_cluster.background import Background
from tests.kube_cluster.jobs import gang
from volcano.api.resources import CONFIGMAPS, JOBS, PODS, Resource
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists, ApiError
from volcano.kube.transport import HttpTransport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Step = Callable[[Client, int], Awaitable[None]]

NAMESPACE = "default"
WRITE_SECONDS = 0.01
SUBMIT_SECONDS = 0.5
COUNTER = "counter"


class Load(Background):
    """Writes small objects fast, and submits gangs, jobs that need no gang, and single pods. Each pod notes its run."""

    def __init__(self, kubeconfig: Path, runs: Path, most: int) -> None:
        """It submits `most` of them: where servers take minutes to come back, more would run for as long afterwards."""
        super().__init__()
        self._most = most
        self.interruptions = 0
        self.count = 0
        self.acknowledged: dict[str, set[str]] = defaultdict(set)
        self._kubeconfig = kubeconfig
        self._runs = runs

    async def _work(self) -> None:
        await asyncio.gather(self._persist(self._write, WRITE_SECONDS), self._persist(self._submit, SUBMIT_SECONDS))

    async def _persist(self, step: Step, pause: float) -> None:
        """Take one step after another until the end; after a failure, the next."""
        number = 0
        while not self._stop.is_set():
            client = Client(HttpTransport(config.load(str(self._kubeconfig))), user_agent="load")
            with suppress(ApiError, OSError, TimeoutError):
                while not self._stop.is_set():
                    number += 1
                    await step(client, number)
                    await asyncio.sleep(pause)
            self.interruptions += 1
            await client.close()
            await asyncio.sleep(0.02)

    async def _write(self, client: Client, number: int) -> None:
        await self._create(client, CONFIGMAPS, {"metadata": {"name": f"written-{number}"}})
        counter = {"metadata": {"name": COUNTER}, "data": {"count": str(number)}}
        try:
            await client.patch(CONFIGMAPS.untyped, COUNTER, counter, NAMESPACE)
        except ApiError as error:
            if error.status != 404:
                raise
            with suppress(AlreadyExists):
                await client.create(CONFIGMAPS.untyped, counter, NAMESPACE)
            return
        self.count = number

    async def _submit(self, client: Client, number: int) -> None:
        if number > self._most:
            return
        command = ("sh", "-c", f"echo ran >> {self._runs}/$HOSTNAME; sleep 1")
        if number % 3 == 0:
            await self._create(client, PODS, self._pod(f"single-{number}", command))
        elif number % 3 == 1:
            await self._create(client, JOBS, gang(f"gang-{number}", 3, *command))
        else:
            job = gang(f"array-{number}", 4, *command)
            job["spec"]["minAvailable"] = 1
            await self._create(client, JOBS, job)

    def _pod(self, name: str, command: tuple[str, ...]) -> dict[str, Any]:
        template = gang(name, 1, *command)["spec"]["tasks"][0]["template"]
        return {"metadata": {"name": name}, "spec": {**template["spec"], "schedulerName": "volcano"}}

    async def _create(self, client: Client, resource: Resource[Any], document: dict[str, Any]) -> None:
        await client.create(resource.untyped, document, NAMESPACE)
        self.acknowledged[resource.plural].add(document["metadata"]["name"])
