"""Jobs that come faster than podgroups can be let in one by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.waiting import until
from volcano.api.resources import JOBS, PODGROUPS
from volcano.kube.client import Client

AT_ONCE = 10
INQUEUE = "Inqueue"


class Flow:
    """Submits `job(number)` in a namespace where nobody else does, and sees how podgroups are made."""

    def __init__(self, client: Client, namespace: str, job: Callable[[int], dict[str, Any]]) -> None:
        self._client = client
        self._namespace = namespace
        self._job = job
        self.count = 0
        """Jobs submitted so far."""
        self.born: dict[str, str] = {}
        """The phase of each podgroup when it was made, in that order."""

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        start = (await self._client.list(PODGROUPS.untyped, self._namespace)).resource_version
        watching = asyncio.create_task(self._watch(start))
        try:
            yield
        finally:
            watching.cancel()

    async def submit(self, count: int) -> None:
        """So many more, rounded up to a whole number of handfuls."""
        for _ in range(0, count, AT_ONCE):
            jobs = [self._job(self.count + number) for number in range(AT_ONCE)]
            await asyncio.gather(*(self._client.create(JOBS.untyped, job, self._namespace) for job in jobs))
            self.count += AT_ONCE

    async def submit_until_let_in(self) -> None:
        """As many as it takes until podgroups are let in before they are there."""
        while INQUEUE not in self.born.values():
            await self.submit(AT_ONCE)

    async def until_born(self) -> None:
        """Until each job has its podgroup."""
        await until(lambda: len(self.born) == self.count)

    async def _watch(self, start: str) -> None:
        async for event in self._client.watch(PODGROUPS.untyped, self._namespace, resource_version=start):
            if event.type == "ADDED":
                phase = event.object.get("status", {}).get("phase")
                self.born[event.object["metadata"]["name"]] = phase or "Pending"
