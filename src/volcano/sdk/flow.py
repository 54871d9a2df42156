"""Jobs in an order: `Flow` describes them, `AsyncFlowRun` is a handle on what was submitted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from volcano.api.meta import JsonObject
from volcano.api.resources import JOB_FLOWS
from volcano.controllers.jobflow.jobs import job_name
from volcano.jobs.watching import states
from volcano.kube.errors import NotFound
from volcano.sdk.errors import Cancelled, JobError, WaitTimeout, WrongArgument
from volcano.sdk.job import AsyncJob
from volcano.sdk.options import Options
from volcano.sdk.planning import Place, Plan, fresh_name, plan

if TYPE_CHECKING:
    from volcano.kube.client import Client

SUCCEEDED, FAILED = "Succeed", "Failed"


@dataclass(frozen=True, eq=False)
class Step:
    """One job of a flow, to be named in the `after` of others."""

    name: str
    work: Any
    args: Sequence[Any]
    after: Sequence[Step]
    options: Options


@dataclass
class Flow:
    """Jobs and which of them come first.

    flow = Flow("nightly")
    load = flow.add(load_data)
    flow.add(train, nodes=4, after=[load])
    """

    name: str
    steps: list[Step] = field(default_factory=list)

    def add(self, work: Any, *args: Any, **options: Unpack[Options]) -> Step:
        """A step that starts when those in `after` have completed. Its name is that of the work if none is given."""
        after = options.pop("after", ())
        given = options.pop("name", "") or getattr(work, "__name__", "") or f"step-{len(self.steps) + 1}"
        name = given.lower().replace("_", "-")
        if any(step.name == name for step in self.steps):
            raise WrongArgument(f"flow {self.name} has a step {name} already: give this one another name=")
        if strangers := [str(step) for step in after if step not in self.steps]:
            raise WrongArgument(f"after={', '.join(strangers)}: name steps of flow {self.name}, as add() returns them")
        step = Step(name, work, args, [step for step in after if isinstance(step, Step)], options)
        self.steps.append(step)
        return step


@dataclass(frozen=True)
class FlowPlan:
    """What a flow comes to: a template and files for each step, and the order."""

    flow: JsonObject
    templates: list[JsonObject]
    plans: dict[str, Plan]
    """By the name of the step."""


def plan_flow(flow: Flow, place: Place) -> FlowPlan:
    """Pure. Templates are named after the run, so that runs of one flow do not meet."""
    if not flow.steps:
        raise WrongArgument(f"flow {flow.name} has no steps: add some")
    run = fresh_name(flow.name)
    plans, templates, entries = {}, [], []
    for step in flow.steps:
        template = template_name(run, step.name)
        made = plan(step.work, step.args, {**step.options, "name": template}, place)
        plans[step.name] = made
        templates.append({"metadata": {"name": template, "namespace": made.namespace}, "spec": made.job["spec"]})
        targets = [template_name(run, one.name) for one in step.after]
        entries.append({"name": template, **({"dependsOn": {"targets": targets}} if targets else {})})
    namespaces = {made.namespace for made in plans.values()}
    if len(namespaces) > 1:
        raise WrongArgument(f"the steps of a flow share a namespace, these have {', '.join(sorted(namespaces))}")
    document = {
        "metadata": {"name": run, "namespace": namespaces.pop()},
        "spec": {"flows": entries, "jobRetainPolicy": "retain"},
    }
    return FlowPlan(document, templates, plans)


def template_name(run: str, step: str) -> str:
    """JobFlow names jobs `<flow>-<template>`; the template needs a name of its own in the namespace."""
    return f"{step}-{run.rpartition('-')[2]}"


class AsyncFlowRun:
    """A flow that was submitted. `run["step"]` is the handle on a step's job."""

    def __init__(self, api: Client, name: str, namespace: str, steps: Sequence[str] = ()) -> None:
        self._api = api
        self.name = name
        self.namespace = namespace
        self.steps = list(steps)

    def __repr__(self) -> str:
        return f"<FlowRun {self.namespace}/{self.name}>"

    def __getitem__(self, step: str) -> AsyncJob:
        if step not in self.steps:
            raise KeyError(f"flow {self.name} has no step {step}: there are {', '.join(self.steps)}")
        return AsyncJob(self._api, job_name(self.name, template_name(self.name, step)), self.namespace, expected=True)

    async def phase(self) -> str:
        """Pending, Running, Succeed, Failed or Terminating; "" before the controller has seen it."""
        return _phase(await self._api.get(JOB_FLOWS.untyped, self.name, self.namespace))

    async def wait(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Wait until all steps have completed; raises what went wrong with the first that failed."""
        try:
            async with asyncio.timeout(timeout):
                phase = await self._end()
        except TimeoutError:
            raise WaitTimeout(f"flow {self.name} has not finished within {timeout:g} s") from None
        if phase == SUCCEEDED:
            return
        for step in self.steps:
            with suppress(NotFound, Cancelled):
                if (await self[step].status()).finished:
                    await self[step].result()
        raise JobError(f"flow {self.name} failed", job=self.name)

    async def _end(self) -> str:
        async with aclosing(states(self._api, JOB_FLOWS, self.name, self.namespace)) as documents:
            async for document in documents:
                if (phase := _phase(document)) in (SUCCEEDED, FAILED):
                    return phase
        raise Cancelled(f"flow {self.name} does not exist: it was removed, or never there", job=self.name)

    async def delete(self) -> None:
        """Remove it, its jobs and what was shipped for them. Does nothing where it is gone."""
        with suppress(NotFound):
            await self._api.delete(JOB_FLOWS, self.name, self.namespace, propagation="Background")


def _phase(document: JsonObject) -> str:
    return str(((document.get("status") or {}).get("state") or {}).get("phase") or "")
