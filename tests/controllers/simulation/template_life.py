"""Random histories of job templates and the jobs made from them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from tests.controllers.simulation.followers import Follower
from volcano.api import keys
from volcano.controllers.jobtemplate.controller import JobTemplateController
from volcano.controllers.runtime import Context

TEMPLATES: Final = ("s", "t")
JOBS: Final = ("a", "b", "c")
LABEL: Final = keys.CREATED_BY_JOB_TEMPLATE


class Templates(Follower):
    kinds = ("jobtemplates", "jobs")

    @property
    def acts(self) -> Mapping[Callable[[Any], Awaitable[None]], int]:
        return ACTS

    def controller(self, context: Context) -> JobTemplateController:
        return JobTemplateController(context)

    async def begin(self) -> None:
        await self.template_comes()

    # What happens

    async def template_comes(self) -> None:
        self.make("jobtemplates", self.random.choice(TEMPLATES), "ns", spec={})

    async def template_goes(self) -> None:
        self.remove_some("jobtemplates")

    async def somebody_writes_its_status(self) -> None:
        if key := self.some("jobtemplates"):
            self.server.patch("jobtemplates", key, {"status": {"jobDependsOnList": ["nobody"]}})

    async def job_comes(self) -> None:
        labels = {LABEL: f"ns.{self.random.choice(TEMPLATES)}"}
        self.make("jobs", self.random.choice(JOBS), "ns", metadata={"labels": labels}, spec={})

    async def job_goes(self) -> None:
        self.remove_some("jobs")

    async def job_changes_its_label(self) -> None:
        if key := self.some("jobs"):
            label = self.random.choice((None, *(f"ns.{name}" for name in TEMPLATES)))
            self.server.patch("jobs", key, {"metadata": {"labels": {LABEL: label}}})

    # What must have come of it

    def check(self) -> None:
        for template in self.documents("jobtemplates"):
            label = f"ns.{template['metadata']['name']}"
            jobs = [job["metadata"] for job in self.documents("jobs")]
            names = sorted(job["name"] for job in jobs if job["labels"].get(LABEL) == label)
            assert template.get("status", {}).get("jobDependsOnList", []) == names


ACTS: Mapping[Callable[[Any], Awaitable[None]], int] = {
    Templates.template_comes: 2,
    Templates.template_goes: 1,
    Templates.somebody_writes_its_status: 1,
    Templates.job_comes: 4,
    Templates.job_goes: 3,
    Templates.job_changes_its_label: 2,
}
