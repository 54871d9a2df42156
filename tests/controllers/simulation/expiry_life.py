"""Random histories of jobs that end, and of people who change their minds about how long these may stay."""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from tests.controllers.simulation.followers import Follower
from volcano.api import phases
from volcano.api.meta import JsonObject
from volcano.controllers.gc.controller import GarbageCollector
from volcano.controllers.runtime import Context

JOBS: Final = ("a", "b", "c")
TIMES_TO_LIVE: Final = (None, 0, 1, 30, 100_000)
ENDS: Final = (phases.COMPLETED, phases.FAILED, phases.TERMINATED)


class Expiries(Follower):
    kinds = ("jobs",)

    @property
    def acts(self) -> Mapping[Callable[[Any], Awaitable[None]], int]:
        return ACTS

    def controller(self, context: Context) -> GarbageCollector:
        return GarbageCollector(context)

    async def begin(self) -> None:
        self.by_hand = False
        await self.job_comes()

    # What happens

    async def job_comes(self) -> None:
        spec = {"ttlSecondsAfterFinished": self.random.choice(TIMES_TO_LIVE)}
        status = {"state": {"phase": phases.RUNNING}}
        self.make("jobs", self.random.choice(JOBS), "ns", spec=spec, status=status)

    async def job_ends(self) -> None:
        if (key := self.some("jobs")) and not self.is_over(self.server.objects["jobs"][key]):
            when = f"{self.server.now():%Y-%m-%dT%H:%M:%SZ}"
            state = {"phase": self.random.choice(ENDS), "lastTransitionTime": when}
            self.server.patch("jobs", key, {"status": {"state": state}})

    async def somebody_changes_its_time(self) -> None:
        if key := self.some("jobs"):
            spec = {"ttlSecondsAfterFinished": self.random.choice(TIMES_TO_LIVE)}
            self.server.patch("jobs", key, {"spec": spec})

    async def somebody_deletes_a_job(self) -> None:
        self.by_hand = True
        self.remove_some("jobs")
        self.by_hand = False

    # What must hold

    def observe(self, plural: str, before: JsonObject | None, after: JsonObject | None) -> None:
        if before is not None and after is None and not self.by_hand:
            assert self.is_due(before), f"{before} was deleted too early"

    def check(self) -> None:
        """Those that stay longer than anybody here waits are there, others are not."""
        assert not [job for job in self.documents("jobs") if self.is_due(job)]

    def is_due(self, job: JsonObject) -> bool:
        ttl = job["spec"].get("ttlSecondsAfterFinished")
        if ttl is None or not self.is_over(job):
            return False
        ended = datetime.datetime.fromisoformat(job["status"]["state"]["lastTransitionTime"])
        return self.server.now() >= ended + datetime.timedelta(seconds=ttl)

    def is_over(self, job: JsonObject) -> bool:
        return job["status"]["state"]["phase"] in ENDS


ACTS: Mapping[Callable[[Any], Awaitable[None]], int] = {
    Expiries.job_comes: 4,
    Expiries.job_ends: 4,
    Expiries.somebody_changes_its_time: 4,
    Expiries.somebody_deletes_a_job: 1,
}
