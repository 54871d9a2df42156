"""Gangs, gangs that push others aside, restarts and cancellations, whatever happens; and what must come of them."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.kube_cluster.background import Background
from tests.kube_cluster.jobs import gang
from volcano.api.resources import COMMANDS, JOBS, PRIORITY_CLASSES, Resource
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.errors import ApiError, NotFound
from volcano.kube.transport import HttpTransport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

NAMESPACE = "default"
SUBMIT_SECONDS = 2.0
RETRY_SECONDS = 0.2
URGENT = "urgent"
FINISHED = ("Completed",)


@dataclass
class Account:
    """What was asked, and what may have been: a request without an answer may have arrived."""

    ends: dict[str, tuple[str, ...]] = field(default_factory=dict)
    minimum: dict[str, int] = field(default_factory=dict)
    restarts: dict[str, tuple[int, int]] = field(default_factory=dict)
    unanswered: int = 0


class Load(Background):
    def __init__(self, kubeconfig: Path, dice: random.Random, marks: Path) -> None:
        """Pods note in the folder `marks` that they have run."""
        super().__init__()
        self._marks = marks
        self.account = Account()
        self._kubeconfig = kubeconfig
        self._dice = dice

    async def _work(self) -> None:
        client = Client(HttpTransport(config.load(str(self._kubeconfig))), user_agent="load")
        steps = (self._gang, self._urgent, self._restarted, self._cancelled, self._aborted)
        try:
            await self._create(client, PRIORITY_CLASSES, {"metadata": {"name": URGENT}, "value": 1000}, None)
            await asyncio.gather(*(self._repeat(client, step) for step in steps))
        finally:
            await client.close()

    async def _repeat(self, client: Client, step: Callable[[Client, int], Awaitable[None]]) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            await step(client, number)
            await asyncio.sleep(SUBMIT_SECONDS)

    async def _gang(self, client: Client, number: int) -> None:
        name = f"gang-{number}"
        await self._submit(client, gang(name, self._dice.randint(2, 4), "sleep", "1", cpu="500m"))
        await self._await_phase(client, name, "Completed")

    async def _urgent(self, client: Client, number: int) -> None:
        name = f"urgent-{number}"
        await self._submit(client, gang(name, 2, "sleep", "1", cpu="500m", priorityClassName=URGENT))
        await self._await_phase(client, name, "Completed")

    async def _restarted(self, client: Client, number: int) -> None:
        """A gang that runs until it is told to start again, and ends soon the second time."""
        name = f"restarted-{number}"
        twice = f"mkdir {self._marks}/$HOSTNAME && exec sleep 600; exec sleep 1"
        await self._submit(client, gang(name, 2, "sh", "-c", twice, maxRetry=20, priorityClassName=URGENT))
        await self._await_phase(client, name, "Running", whatever=True)
        sent = 1
        while not await self._command(client, name, "RestartJob"):
            sent += 1
        self.account.restarts[name] = (1, sent)

    async def _cancelled(self, client: Client, number: int) -> None:
        name = f"cancelled-{number}"
        await self._submit(client, gang(name, 2, "sleep", "600"))
        await self._await_phase(client, name, "Running")
        await self._delete(client, JOBS, name)
        self.account.ends[name] = ("gone",)

    async def _aborted(self, client: Client, number: int) -> None:
        name = f"aborted-{number}"
        await self._submit(client, gang(name, 2, "sleep", "600"))
        await self._await_phase(client, name, "Running")
        while not await self._command(client, name, "AbortJob"):
            pass
        self.account.ends[name] = ("Aborted",)

    async def _submit(self, client: Client, job: dict[str, Any]) -> None:
        name = job["metadata"]["name"]
        self.account.minimum[name] = job["spec"]["minAvailable"]
        self.account.ends[name] = FINISHED
        await self._create(client, JOBS, job)

    async def _await_phase(self, client: Client, name: str, phase: str, *, whatever: bool = False) -> bool:
        """Whether the job came to the phase before it ended or, unless `whatever`, the load stopped."""
        while whatever or not self._stop.is_set():
            job = await self._persist(lambda: client.get(JOBS.untyped, name, NAMESPACE))
            found = ((job.get("status") or {}).get("state") or {}).get("phase")
            if found in (phase, "Completed", "Failed"):
                return bool(found == phase)
            await asyncio.sleep(0.2)
        return False

    async def _command(self, client: Client, job: str, action: str) -> bool:
        """Send a command once; False when there was no answer, so that it may have arrived or not."""
        owner = await self._persist(lambda: client.get(JOBS.untyped, job, NAMESPACE))
        named = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": job}
        reference = {**named, "uid": owner["metadata"]["uid"], "controller": True}
        metadata = {"generateName": f"{job}-", "ownerReferences": [reference]}
        command = {"metadata": metadata, "target": reference, "action": action}
        try:
            await client.create(COMMANDS.untyped, command, NAMESPACE)
        except (ApiError, OSError, TimeoutError):
            self.account.unanswered += 1
            await asyncio.sleep(RETRY_SECONDS)
            return False
        return True

    async def _create(
        self, client: Client, resource: Resource[Any], document: dict[str, Any], namespace: str | None = NAMESPACE
    ) -> None:
        """Until it is there: a repeated create that had arrived is no error."""
        name = document["metadata"]["name"]

        async def once() -> None:
            try:
                await client.create(resource.untyped, document, namespace)
            except ApiError as error:
                if error.status != 409:
                    raise
                await client.get(resource.untyped, name, namespace)

        await self._persist(once)

    async def _delete(self, client: Client, resource: Resource[Any], name: str) -> None:
        async def once() -> None:
            try:
                await client.delete(resource, name, NAMESPACE)
            except NotFound:
                return

        await self._persist(once)

    async def _persist(self, attempt: Callable[[], Awaitable[Any]]) -> Any:
        while True:
            try:
                return await attempt()
            except (ApiError, OSError, TimeoutError):
                self.account.unanswered += 1
                await asyncio.sleep(RETRY_SECONDS)
