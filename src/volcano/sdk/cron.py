"""A handle on work that starts on a schedule."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.api.resources import CRON_JOBS, JOBS
from volcano.kube.errors import NotFound
from volcano.sdk.job import AsyncJob
from volcano.sdk.planning import Plan

if TYPE_CHECKING:
    from volcano.kube.client import Client


def cron_job(schedule: str, made: Plan, time_zone: str) -> JsonObject:
    """The CronJob that starts the planned job."""
    head = made.job["metadata"]
    metadata = {name: head[name] for name in ("labels", "annotations") if head.get(name)}
    spec = {"schedule": schedule, "jobTemplate": {"metadata": metadata, "spec": made.job["spec"]}}
    if time_zone:
        spec["timeZone"] = time_zone
    return {"metadata": {"name": made.name, "namespace": made.namespace}, "spec": spec}


class AsyncCronJob:
    """Starts a job at each time of its schedule, until it is suspended or removed."""

    def __init__(self, api: Client, name: str, namespace: str) -> None:
        self._api = api
        self.name = name
        self.namespace = namespace

    def __repr__(self) -> str:
        return f"<CronJob {self.namespace}/{self.name}>"

    async def jobs(self) -> list[AsyncJob]:
        """The jobs it has started and that are still there, oldest first."""
        listing = await self._api.list(JOBS, self.namespace)
        owned = [
            job.metadata
            for job in listing.items
            if any(owner.kind == CRON_JOBS.kind and owner.name == self.name for owner in job.metadata.owner_references)
        ]
        return [AsyncJob(self._api, head.name, self.namespace) for head in sorted(owned, key=lambda head: head.name)]

    async def suspend(self) -> None:
        """Start no further jobs until `resume`."""
        await self._suspend(True)

    async def resume(self) -> None:
        """Start jobs again."""
        await self._suspend(False)

    async def _suspend(self, suspend: bool) -> None:
        await self._api.patch(CRON_JOBS.untyped, self.name, {"spec": {"suspend": suspend}}, self.namespace)

    async def delete(self) -> None:
        """Remove it and its jobs. Does nothing where it is gone."""
        with suppress(NotFound):
            await self._api.delete(CRON_JOBS, self.name, self.namespace, propagation="Background")
