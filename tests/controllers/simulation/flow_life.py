"""Random histories of flows: jobs get on, end, fail and are deleted, templates come and go, the controller dies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.controllers.simulation.world import LONGEST_BACK_OFF_SECONDS, World
from volcano.api import phases
from volcano.api.meta import JsonObject
from volcano.controllers.jobflow.controller import JobFlowController
from volcano.controllers.jobflow.machine import Phase
from volcano.controllers.runtime import Context

NAMES = ("f", "g")
STEPS = ("a", "b", "c", "d", "e")
COURSE = (phases.PENDING, phases.RUNNING, phases.COMPLETING, phases.COMPLETED, phases.FAILED, phases.TERMINATED)
BROKEN = {phases.FAILED, phases.TERMINATED}
ROUNDS = 12
KNOWN_SECONDS = 15.0
"""After so long a controller must have learnt of a change: watches lag less."""


class Flows(World):
    kinds = ("jobflows", "jobtemplates", "jobs")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.completed: set[tuple[str, str]] = set()
        """Jobs that have completed at some time, by the uid of their flow and their name."""
        self.told_at: dict[tuple[str, str], float] = {}
        """Since when the status of a flow says that a job of it is completed."""
        self.gone_at: dict[str, float] = {}

    @property
    def acts(self) -> Mapping[Callable[[Any], Awaitable[None]], int]:
        return ACTS

    def controller(self, context: Context) -> JobFlowController:
        return JobFlowController(context, workers=1)

    async def begin(self) -> None:
        for name in STEPS:
            self.make_template(name)
        await self.somebody_submits()

    # Users

    def make_template(self, name: str) -> None:
        spec = {"tasks": [{"name": "t", "replicas": 1}]}
        self.server.put("jobtemplates", f"ns/{name}", {"metadata": {"name": name, "namespace": "ns"}, "spec": spec})

    async def somebody_submits(self) -> None:
        """Steps wait for some of those before them."""
        name = self.random.choice(NAMES)
        if f"ns/{name}" in self.flows:
            return
        steps: list[JsonObject] = []
        for step in self.random.sample(STEPS, self.random.randint(1, len(STEPS))):
            before = [one["name"] for one in steps]
            targets = self.random.sample(before, self.random.randint(0, len(before)))
            steps.append({"name": step, **({"dependsOn": {"targets": targets}} if targets else {})})
        spec = {"flows": steps, "jobRetainPolicy": self.random.choice(("retain", "delete"))}
        self.server.put("jobflows", f"ns/{name}", {"metadata": {"name": name, "namespace": "ns"}, "spec": spec})

    async def somebody_deletes_a_flow(self) -> None:
        if key := self.some("jobflows"):
            self.server.remove("jobflows", key)

    async def somebody_deletes_a_job(self) -> None:
        if key := self.some("jobs"):
            self.server.remove("jobs", key)

    async def template_comes_or_goes(self) -> None:
        name = self.random.choice(STEPS)
        if f"ns/{name}" in self.server.objects["jobtemplates"]:
            self.server.remove("jobtemplates", f"ns/{name}")
        else:
            self.make_template(name)

    # Jobs and the garbage collector

    async def job_gets_on(self) -> None:
        """A job that has failed may be started again; one that has completed is over."""
        if key := self.some("jobs"):
            self.bring(key, self.random.choice(COURSE))

    def bring(self, key: str, phase: str) -> None:
        if phase_of(self.server.objects["jobs"][key]) != phases.COMPLETED:
            self.server.patch("jobs", key, {"status": {"state": {"phase": phase}}})

    async def owners_are_gone(self) -> None:
        alive = {document["metadata"]["uid"] for document in self.flows.values()}
        for key, job in list(self.server.objects["jobs"].items()):
            if owner_of(job) not in alive:
                self.server.remove("jobs", key)

    # What must hold at all times

    def observe(self, plural: str, before: JsonObject | None, after: JsonObject | None) -> None:
        now = asyncio.get_running_loop().time()
        if plural == "jobflows":
            if after is None and before is not None:
                self.gone_at[before["metadata"]["uid"]] = now
            elif before is not None and after is not None:
                for name in (after.get("status") or {}).get("completedJobs") or ():
                    self.told_at.setdefault((after["metadata"]["uid"], name), now)
        elif plural == "jobs" and after is not None:
            if phase_of(after) == phases.COMPLETED:
                self.completed.add((owner_of(after), after["metadata"]["name"]))
            if before is None:
                self.check_start(after, now)

    def check_start(self, job: JsonObject, now: float) -> None:
        uid, name = owner_of(job), job["metadata"]["name"]
        assert now - self.gone_at.get(uid, now) <= KNOWN_SECONDS, f"{name} starts for a flow that is gone"
        told = self.told_at.get((uid, name), now)
        assert now - told <= KNOWN_SECONDS, f"{name} starts again after it has completed"
        flow = next((one for one in self.flows.values() if one["metadata"]["uid"] == uid), None)
        if flow is not None:
            own = flow["metadata"]["name"]
            step = next(one for one in flow["spec"]["flows"] if f"{own}-{one['name']}" == name)
            for target in step.get("dependsOn", {}).get("targets", ()):
                assert (uid, f"{own}-{target}") in self.completed, f"{name} starts before {target} has completed"

    # The end

    async def comes_to_rest(self) -> None:
        await self.rests()

    async def end(self) -> None:
        await self.hears_late(1)
        for name in STEPS:
            self.make_template(name)
        await self.owners_are_gone()  # their names are free again
        for _ in range(ROUNDS):
            await self.pause(2 * LONGEST_BACK_OFF_SECONDS)
            for key in list(self.server.objects["jobs"]):
                self.bring(key, phases.COMPLETED)
        await self.rests()
        for flow in self.flows.values():
            self.check_end(flow)
        await self.is_as_a_fresh_controller_would_have_it()
        for key in list(self.flows):
            self.server.remove("jobflows", key)
        await self.owners_are_gone()
        await self.rests()
        assert not self.server.objects["jobs"]

    def check_end(self, flow: JsonObject) -> None:
        """It has succeeded, unless somebody deleted a job that had failed: nobody can start that again."""
        status, own = flow.get("status") or {}, flow["metadata"]["name"]
        jobs = {
            job["metadata"]["name"]
            for job in self.server.objects["jobs"].values()
            if owner_of(job) == flow["metadata"]["uid"]
        }
        broken = {*(status.get("failedJobs") or ()), *(status.get("terminatedJobs") or ())}
        phase = status["state"]["phase"]
        if phase == Phase.FAILED:
            assert broken - jobs, status
            return
        assert phase == Phase.SUCCEED, status
        assert sorted(status["completedJobs"]) == sorted(f"{own}-{one['name']}" for one in flow["spec"]["flows"])
        assert not jobs or flow["spec"]["jobRetainPolicy"] != "delete", jobs

    @property
    def flows(self) -> Mapping[str, JsonObject]:
        return self.server.objects["jobflows"]


def phase_of(job: JsonObject) -> str:
    phase: str = job.get("status", {}).get("state", {}).get("phase", "")
    return phase


def owner_of(job: JsonObject) -> str:
    return str(job["metadata"]["ownerReferences"][0]["uid"])


ACTS: Mapping[Callable[[Any], Awaitable[None]], int] = {
    Flows.somebody_submits: 2,
    Flows.somebody_deletes_a_flow: 1,
    Flows.somebody_deletes_a_job: 2,
    Flows.template_comes_or_goes: 2,
    Flows.job_gets_on: 16,
    Flows.owners_are_gone: 2,
}
