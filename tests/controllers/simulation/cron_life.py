"""Random histories of cronjobs: users edit, jobs get on and end, clocks are set, and the controller is killed."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from tests.controllers.simulation.world import LONGEST_BACK_OFF_SECONDS, World
from volcano.api import keys, phases
from volcano.api.meta import JsonObject
from volcano.controllers.cronjob.controller import LONGEST_WAIT_SECONDS, CronJobController
from volcano.controllers.runtime import Context

NAMES = ("a", "b")
SCHEDULES = ("* * * * *", "* * * * *", "*/3 * * * *", "0 * * * *")
POLICIES = ("Allow", "Forbid", "Replace")
LIMITS = (0, 1, 3, None)
DEADLINES = (None, None, 30, 600)
OVER = {phases.COMPLETED, phases.FAILED, phases.TERMINATED, phases.ABORTED}
COURSE = (phases.PENDING, phases.RUNNING, phases.COMPLETED, phases.FAILED, phases.TERMINATED, phases.ABORTED)
PASSES = (5, 61, 61, 200, 1300)
CLOCK_STEPS = (-3600, -90, -20, 20, 90, 7200)
KNOWN_SECONDS = 15.0
"""After so long a controller must have learnt of a change: watches lag less."""


class Cronjobs(World):
    kinds = ("cronjobs", "jobs")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.skew = self.most_skew = 0
        self.runs: dict[tuple[str, str], int] = {}
        """Jobs made, by the uid of their cronjob and the time they are for."""
        self.taken_away: set[tuple[str, str]] = set()
        """Runs whose job was deleted by a user, or because its cronjob is gone, which may be heard of later."""
        self.since: dict[str, tuple[Any, float]] = {}
        """What is so, and since when, by what it is about."""

    @property
    def acts(self) -> Mapping[Callable[[Any], Awaitable[None]], int]:
        return ACTS

    def controller(self, context: Context) -> CronJobController:
        context.now = self.clock
        return CronJobController(context, workers=1, local=datetime.UTC)

    def clock(self) -> datetime.datetime:
        """What the controller's machine takes the time to be."""
        return self.server.now() + datetime.timedelta(seconds=self.skew)

    async def begin(self) -> None:
        await self.somebody_submits()

    # Users

    async def somebody_submits(self) -> None:
        name = self.random.choice(NAMES)
        if f"ns/{name}" not in self.cronjobs:
            template = {"spec": {"tasks": [{"name": "t", "replicas": 1}]}}
            spec = {"schedule": self.random.choice(SCHEDULES), "jobTemplate": template, **self.some_spec()}
            self.server.put(
                "cronjobs", f"ns/{name}", {"metadata": {"name": name, "namespace": "ns"}, "spec": spec, "status": {}}
            )

    def some_spec(self) -> JsonObject:
        found = {
            "concurrencyPolicy": self.random.choice(POLICIES),
            "successfulJobsHistoryLimit": self.random.choice(LIMITS),
            "failedJobsHistoryLimit": self.random.choice(LIMITS),
            "startingDeadlineSeconds": self.random.choice(DEADLINES),
            "suspend": self.random.random() < 0.1,
        }
        return {name: value for name, value in found.items() if value is not None}

    async def somebody_edits(self) -> None:
        if key := self.some("cronjobs"):
            name, value = self.random.choice(
                [("schedule", self.random.choice(SCHEDULES)), *self.some_spec().items(), ("suspend", False)]
            )
            self.server.patch("cronjobs", key, {"spec": {name: value}})

    async def somebody_deletes_a_cronjob(self) -> None:
        if key := self.some("cronjobs"):
            self.server.remove("cronjobs", key)

    async def somebody_deletes_a_job(self) -> None:
        if key := self.some("jobs"):
            self.taken_away.add(run_of(self.server.objects["jobs"][key]))
            self.server.remove("jobs", key)

    # Jobs, the garbage collector and time

    async def job_gets_on(self) -> None:
        if key := self.some("jobs"):
            self.bring(key, self.random.choice(COURSE))

    def bring(self, key: str, phase: str) -> None:
        if phase_of(self.server.objects["jobs"][key]) not in OVER - {phases.ABORTED}:
            when = f"{self.server.now():%Y-%m-%dT%H:%M:%SZ}"
            self.server.patch("jobs", key, {"status": {"state": {"phase": phase, "lastTransitionTime": when}}})

    async def owners_are_gone(self) -> None:
        """What the garbage collector does."""
        alive = {document["metadata"]["uid"] for document in self.cronjobs.values()}
        for key, job in list(self.server.objects["jobs"].items()):
            if owner_of(job) not in alive:
                self.taken_away.add(run_of(job))
                self.server.remove("jobs", key)

    async def time_passes(self) -> None:
        await self.pause(self.random.choice(PASSES))

    async def clock_is_set(self) -> None:
        self.skew += self.random.choice(CLOCK_STEPS)
        self.most_skew = max(self.most_skew, self.skew)

    @property
    def cronjobs(self) -> Mapping[str, JsonObject]:
        return self.server.objects["cronjobs"]

    # What must hold at all times

    def observe(self, plural: str, before: JsonObject | None, after: JsonObject | None) -> None:
        if plural == "cronjobs":
            known = after or before or {}
            name = f"cronjob {known['metadata']['name']}"
            spec = (after or {}).get("spec", {})
            self.note(f"{name} exists", after is not None)
            self.note(f"{name} policy", spec.get("concurrencyPolicy"))
            self.note(f"{name} suspended", spec.get("suspend", False))
            return
        job = after or before or {}
        self.note(f"job {job['metadata']['name']} alive", after is not None and phase_of(job) not in OVER)
        if before is None and after is not None:
            self.check_start(after)

    def note(self, what: str, value: Any) -> None:
        if what not in self.since or self.since[what][0] != value:
            self.since[what] = value, asyncio.get_running_loop().time()

    def lasting(self, what: str, value: Any) -> bool:
        """It is so, and has been for as long as it takes to learn of it."""
        found, since = self.since.get(what, (None, 0.0))
        return bool(found == value and asyncio.get_running_loop().time() - since > KNOWN_SECONDS)

    def check_start(self, job: JsonObject) -> None:
        name, run = owner_name(job), run_of(job)
        self.runs[run] = self.runs.get(run, 0) + 1
        assert self.runs[run] == 1 or run in self.taken_away, f"{run} ran twice"
        assert not self.lasting(f"cronjob {name} exists", value=False), f"{name} is gone, and starts a job"
        assert not self.lasting(f"cronjob {name} suspended", value=True), f"{name} is suspended, and starts a job"
        for policy in ("Forbid", "Replace"):
            if self.lasting(f"cronjob {name} policy", policy):
                beside = [other for other in self.alive(run[0]) if self.lasting(f"job {other} alive", value=True)]
                assert not beside, f"{name} ({policy}) starts a job beside {beside}"

    def alive(self, uid: str) -> Iterator[str]:
        for other in self.server.objects["jobs"].values():
            if owner_of(other) == uid and phase_of(other) not in OVER:
                yield other["metadata"]["name"]

    # The end

    async def end(self) -> None:
        self.skew = self.most_skew  # starts wait for a clock that was put back
        await self.everybody_goes_on()
        for key in self.cronjobs:
            self.server.patch("cronjobs", key, {"spec": {"suspend": True}})
        await self.pause(2 * LONGEST_BACK_OFF_SECONDS)
        await self.all_jobs_end()
        await self.rests()
        self.check_history()
        for key in list(self.cronjobs):
            self.server.remove("cronjobs", key)
        await self.owners_are_gone()
        await self.rests()
        assert not self.server.objects["jobs"]

    async def everybody_goes_on(self) -> None:
        """Whatever happened before, a cronjob that is due starts a job."""
        free = {
            "schedule": "* * * * *",
            "suspend": False,
            "startingDeadlineSeconds": None,
            "concurrencyPolicy": "Allow",
        }
        for key in self.cronjobs:
            self.server.patch("cronjobs", key, {"spec": free})
        await self.pause(LONGEST_WAIT_SECONDS + 2 * LONGEST_BACK_OFF_SECONDS)
        before = {key: self.runs_of(document) for key, document in self.cronjobs.items()}
        await self.pause(3 * LONGEST_BACK_OFF_SECONDS)
        for key, document in self.cronjobs.items():
            assert self.runs_of(document) > before[key], f"{key} starts nothing any more"

    def runs_of(self, cronjob: JsonObject) -> int:
        return sum(uid == cronjob["metadata"]["uid"] for uid, _ in self.runs)

    async def all_jobs_end(self) -> None:
        for key in list(self.server.objects["jobs"]):
            self.bring(key, phases.COMPLETED)

    def check_history(self) -> None:
        for cronjob in self.cronjobs.values():
            uid, spec, status = cronjob["metadata"]["uid"], cronjob["spec"], cronjob.get("status") or {}
            mine = [job for job in self.server.objects["jobs"].values() if owner_of(job) == uid]
            for limit, ends in (
                ("successfulJobsHistoryLimit", {phases.COMPLETED}),
                ("failedJobsHistoryLimit", {phases.FAILED, phases.TERMINATED}),
            ):
                kept = [job for job in mine if phase_of(job) in ends]
                assert limit not in spec or len(kept) <= spec[limit], f"{len(kept)} jobs kept, {limit}: {spec[limit]}"
            assert not status.get("active"), status


def phase_of(job: JsonObject) -> str:
    phase: str = job.get("status", {}).get("state", {}).get("phase", "")
    return phase


def owner_of(job: JsonObject) -> str:
    return str(job["metadata"]["ownerReferences"][0]["uid"])


def owner_name(job: JsonObject) -> str:
    return str(job["metadata"]["ownerReferences"][0]["name"])


def run_of(job: JsonObject) -> tuple[str, str]:
    return owner_of(job), str(job["metadata"]["annotations"][keys.CRONJOB_SCHEDULED_TIMESTAMP])


ACTS: Mapping[Callable[[Any], Awaitable[None]], int] = {
    Cronjobs.somebody_submits: 2,
    Cronjobs.somebody_edits: 3,
    Cronjobs.somebody_deletes_a_cronjob: 1,
    Cronjobs.somebody_deletes_a_job: 1,
    Cronjobs.job_gets_on: 10,
    Cronjobs.owners_are_gone: 2,
    Cronjobs.time_passes: 6,
    Cronjobs.clock_is_set: 1,
}
