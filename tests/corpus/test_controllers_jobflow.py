"""Flows and templates against recorded calls: which jobs start and go, and what the status says."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import pytest

from tests.corpus.controller_records import (
    Document,
    argument,
    existing,
    names_written,
    now_of,
    plain,
    pruned,
    typed,
    writes,
)
from tests.corpus.controller_watches import keys_after
from tests.corpus.loader import Record, cases, parameters
from volcano.api import duration, keys
from volcano.api.batch import Job
from volcano.api.flow import FlowJobStatus, JobFlow, JobTemplate
from volcano.api.meta import ObjectMeta
from volcano.controllers.jobflow import machine, progress
from volcano.controllers.jobflow.controller import JobFlowController
from volcano.controllers.jobflow.jobs import belongs, job_for, job_name, label_of
from volcano.controllers.jobtemplate.controller import JobTemplateController
from volcano.kube.workqueue import WorkQueue

FLOWS = [case for area in ("jobflow", "jobflow-*") for case in cases("controllers", area)]
TEMPLATES = cases("controllers", "jobtemplate")


def of(*functions: str, among: list[tuple[str, Record]] = FLOWS) -> list[Any]:
    return parameters([case for case in among if case[1]["function"].rpartition(".")[2] in functions])


def flow_of(record: Record) -> JobFlow:
    document = argument(record, "jobFlow", "newObj", "obj")
    if document is None:
        wanted = argument(record, "req")["jobFlowName"]
        document = next(flow for flow in existing(record, "jobflows") if flow["metadata"]["name"] == wanted)
    return typed(document, JobFlow)


def jobs_of(record: Record, flow: JobFlow) -> dict[str, Job]:
    jobs = [typed(job, Job) for job in existing(record, "jobs")]
    return {job.metadata.name: job for job in jobs if belongs(job, flow.metadata)}


def status_in(document: Document) -> Document:
    """Without the empty parts that Go writes."""
    status: Document = pruned(document.get("status") or {})
    return status


@pytest.mark.parametrize("record", of("handleJobFlow", "syncJobFlow"))
def test_a_step(record: Record) -> None:
    flow = flow_of(record)
    templates = {template["metadata"]["name"]: template for template in existing(record, "jobtemplates")}

    plan = machine.step(flow, jobs_of(record, flow), (), now_of(record))

    started = {job_name(flow.metadata.name, name) for name in plan.start if name in templates}
    assert started == names_written(record, "create", "jobs")
    assert set(plan.remove) == names_written(record, "delete", "jobs")
    updates = writes(record, "update", "jobflows")
    if updates:
        assert plan.status is not None
        assert pruned(plain(plan.status)) == status_in(updates[-1]["object"])
    else:
        assert plan.status is None or pruned(plain(plan.status)) == pruned(plain(flow.status))


@pytest.mark.parametrize("record", of("handleJobFlow", "syncJobFlow", "deployJob"))
def test_the_jobs_that_start(record: Record) -> None:
    flow = flow_of(record)
    templates = {template["metadata"]["name"]: template for template in existing(record, "jobtemplates")}
    for write in writes(record, "create", "jobs"):
        made = write["object"]
        name = made["metadata"]["name"].removeprefix(f"{flow.metadata.name}-")
        step = next(plain(one) for one in flow.spec.flows if one.name == name)

        assert job_for(flow.metadata, step, templates[name]) == made


@pytest.mark.parametrize("record", of("getAllJobStatus"))
def test_the_status(record: Record) -> None:
    flow = flow_of(record)
    status = progress.status_of(flow, jobs_of(record, flow), now_of(record))

    assert pruned(plain(status)) == pruned(with_exact_ends(record["output"]["results"][0]))


def with_exact_ends(status: Document) -> Document:
    """The recording moved its own times and lost their last second; a job ends when its duration is over."""
    for entry in status["jobStatusList"]:
        ran = status["conditions"][entry["name"]].get("runningDuration")
        if ran:
            end = datetime.datetime.fromisoformat(entry["startTimestamp"]) + duration.parse(ran)
            entry["endTimestamp"] = plain(end)
    return status


@pytest.mark.parametrize("record", of("getRunningHistories"))
def test_histories(record: Record) -> None:
    job = typed(argument(record, "job"), Job)
    known = {entry["name"]: typed(entry, FlowJobStatus) for entry in argument(record, "jobStatusList")}

    found = progress.histories(job, known.get(job.metadata.name), now_of(record))

    assert pruned(plain(found)) == pruned(record["output"]["results"][0])


@pytest.mark.parametrize("record", of("Execute"))
def test_the_phase_that_follows(record: Record) -> None:
    flow = flow_of(record)
    after = typed(record["output"].get("argsAfter", record["input"]["args"])["jobFlow"], JobFlow)

    assert machine.next_phase(machine.Phase.RUNNING, flow, flow.status) == after.status.state.phase


@pytest.mark.parametrize("record", of("getAllJobsCreatedByJobFlow", "deleteAllJobsCreatedByJobFlow"))
def test_whose_jobs(record: Record) -> None:
    flow = flow_of(record)
    recorded = [job["metadata"]["name"] for job in (record["output"].get("results") or [[]])[0]]

    assert sorted(jobs_of(record, flow)) == sorted(recorded)


@pytest.mark.parametrize("record", of("getJobFlowNameByJob"))
def test_the_flow_of_a_job(record: Record) -> None:
    job = typed(argument(record, "job"), Job)
    name = record["output"]["results"][0]
    job.metadata.labels[keys.CREATED_BY_JOB_FLOW] = label_of("", name)

    assert belongs(job, ObjectMeta(name=name))


@pytest.mark.parametrize("record", of("addJobFlow", "updateJobFlow"))
def test_what_is_looked_at_again(record: Record) -> None:
    """A new flow; and one that has succeeded and does not retain its jobs, from the moment it succeeds."""
    document = argument(record, "obj", "newObj")
    verb = "add" if argument(record, "obj") else "update"
    objects = [document]
    if verb == "update":
        before = {**argument(record, "oldObj"), "status": {"state": {"phase": "Running"}}}
        objects = [before, document]

    found = keys_after(JobFlowController, "jobflows", verb, *objects)

    request = record["output"]["enqueued"]["queue"][0]
    assert found == [f"{request['namespace']}/{request['jobFlowName']}"]


@pytest.mark.parametrize("record", of("enqueue") + of("enqueue", among=TEMPLATES))
def test_a_key_waits_once(record: Record) -> None:
    """Requests of the same object are one key, whatever their action."""
    request = argument(record, "req")
    name = f"{request['namespace']}/{request['jobFlowName'] or request['jobTemplateName']}"

    async def main() -> int:
        queue: WorkQueue[str] = WorkQueue()
        queue.add(name)
        if record["case"].endswith("de-duplicate") and not record["output"].get("enqueued"):
            queue.add(name)
        return len(queue)

    assert asyncio.run(main()) == 1


@pytest.mark.parametrize("record", of("addJob", "addJobTemplate", "GetTemplateString", among=TEMPLATES))
def test_templates(record: Record) -> None:
    match record["function"].rpartition(".")[2]:
        case "GetTemplateString":
            assert label_of(argument(record, "namespace"), argument(record, "name")) == record["output"]["results"][0]
            return
        case "addJob":
            found = keys_after(JobTemplateController, "jobs", "add", typed(argument(record, "obj"), Job))
        case _:
            template = typed(argument(record, "obj"), JobTemplate)
            found = keys_after(JobTemplateController, "jobtemplates", "add", template)
    request = record["output"]["enqueued"]["queue"][0]

    assert found == [f"{request['namespace']}/{request['jobTemplateName']}"]
