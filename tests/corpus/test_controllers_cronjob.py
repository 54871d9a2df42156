"""Cronjobs against recorded calls: schedules, what is due, jobs made, and whole steps."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest

from tests.corpus.controller_deviations import CRONJOB, deviation_of
from tests.corpus.controller_records import Document, argument, existing, now_of, plain, typed
from tests.corpus.controller_watches import keys_after
from tests.corpus.loader import Record, cases, parameters
from volcano.api import cron, duration
from volcano.api.batch import CronJob, CronJobStatus, Job
from volcano.controllers.cronjob import machine, times
from volcano.controllers.cronjob.controller import CronJobController
from volcano.controllers.cronjob.jobs import job_for
from volcano.controllers.notes import Note

CASES = [case for area in ("cronjob", "cronjob-*") for case in cases("controllers", area)]


def of(*functions: str) -> list[Any]:
    return parameters([case for case in CASES if case[1]["function"].rpartition(".")[2] in functions])


def cronjob_of(record: Record) -> CronJob:
    return typed(argument(record, "cj", "cronJob", "newObj"), CronJob)


def jobs_of(record: Record) -> list[Job]:
    return [typed(job, Job) for job in argument(record, "jobsByCronJob", "js") or []]


def others_of(record: Record) -> dict[str, Job]:
    """The one job that upstream's fake client returns, whatever is asked for."""
    client = record["input"].get("jobClient") or {}
    return {client["job"]["metadata"]["name"]: typed(client["job"], Job)} if client.get("job") else {}


def clock(record: Record) -> datetime.datetime:
    text = argument(record, "now")
    return datetime.datetime.fromisoformat(text) if text else now_of(record)


def schedule_of(record: Record) -> cron.Schedule:
    """As recorded: one test's schedule is not what its cronjob says."""
    recorded = argument(record, "schedule")
    if "every" in recorded:
        return cron.Every(duration.parse(recorded["every"]))
    fields = recorded["cronFields"]
    ranges = {"minute": range(60), "hour": range(24), "dom": range(1, 32), "month": range(1, 13), "dow": range(7)}
    minute, hour, day, month, weekday = (
        cron.Field(tuple(ranges[name] if fields[name] == "*" else fields[name]), fields[name] == "*") for name in ranges
    )
    zone = datetime.UTC if fields["location"] == "Local" else cron.zone_of(fields["location"])
    return cron.Fields(minute, hour, day, month, weekday, zone)


@pytest.mark.parametrize("record", of("nextScheduleTime", "nextScheduleTimeDuration", "mostRecentScheduleTime"))
def test_schedules_are_read_alike(record: Record) -> None:
    cronjob = cronjob_of(record)
    if record["case"] == "TestNextScheduleTime" or "rogue" in record["case"]:
        pytest.skip("upstream's test hands in another schedule than its cronjob's")
    if "TZ" in cronjob.spec.schedule:
        cronjob.spec.time_zone = None

    assert times.schedule_of(cronjob) == schedule_of(record)


@pytest.mark.parametrize("record", of("nextScheduleTime"))
def test_what_is_due(record: Record) -> None:
    cronjob, schedule = cronjob_of(record), schedule_of(record)
    output = record["output"]
    if output["error"]:
        with pytest.raises(times.NeverDue, match=output["error"]):
            times.due(cronjob, schedule, clock(record))
        return

    found = times.due(cronjob, schedule, clock(record))

    assert found.time == (instant(output["results"][0]) if output.get("results") else None)
    assert (found.missed is times.Missed.MANY) == bool(output.get("events"))


@pytest.mark.parametrize("record", of("mostRecentScheduleTime"))
def test_the_most_recent_time(record: Record, request: pytest.FixtureRequest) -> None:
    arguments = record["input"]["args"]
    deadline = arguments["includeStartingDeadlineSeconds"]
    if record["output"]["error"]:
        with pytest.raises(times.NeverDue, match=record["output"]["error"]):
            times.due(cronjob_of(record), schedule_of(record), clock(record), deadline=deadline)
        return
    if deviation := deviation_of(CRONJOB, record):
        request.applymarker(pytest.mark.xfail(reason=deviation.reason))
    since, time, missed = record["output"]["results"]

    found = times.due(cronjob_of(record), schedule_of(record), clock(record), deadline=deadline)

    assert found == times.Due(instant(since), instant(time) if time else None, times.Missed(missed))


@pytest.mark.parametrize("record", of("nextScheduleTimeDuration"))
def test_when_to_look_again(record: Record) -> None:
    expected = record["output"]["results"][0]
    if expected.startswith("-"):
        with pytest.raises(times.NeverDue):  # upstream looks again 292 years ago
            times.wait(cronjob_of(record), schedule_of(record), clock(record))
        return

    assert duration.format(times.wait(cronjob_of(record), schedule_of(record), clock(record))) == expected


@pytest.mark.parametrize("record", of("getJobFromTemplate", "createJob"))
def test_the_job(record: Record) -> None:
    results = record["output"].get("results")
    if not results or record["input"].get("jobClient", {}).get("createErr"):
        pytest.skip("no job was made")
    document = argument(record, "cj", "cronJob")
    expected = results[0]
    expected["metadata"].pop("uid", None)

    made = job_for(typed(document, CronJob), document, instant(argument(record, "scheduledTime")))

    made["metadata"].pop("namespace")
    assert made == expected


@pytest.mark.parametrize("record", of("getJobsByCronJob"))
def test_whose_jobs(record: Record) -> None:
    cronjob = cronjob_of(record)
    found = [
        job["metadata"]["name"]
        for job in existing(record, "jobs")
        if job["metadata"].get("namespace") == cronjob.metadata.namespace and machine.owns(cronjob, typed(job, Job))
    ]

    expected = (record["output"].get("results") or [None])[0] or []
    assert found == [job["metadata"]["name"] for job in expected]


@pytest.mark.parametrize("record", of("processFinishedJobs"))
def test_finished_jobs(record: Record) -> None:
    cronjob = cronjob_of(record)
    plan = machine.Plan(cronjob.status)

    machine.tidy(cronjob, jobs_of(record), plan)

    assert status_of(plan.status) == status_after(record)
    assert [*said(plan.notes), *deletions(plan)] == events(record)


@pytest.mark.parametrize("record", of("processCtlJobAndActiveJob"))
def test_the_active_list(record: Record) -> None:
    plan = machine.Plan(cronjob_of(record).status)

    machine.take_stock(jobs_of(record), others_of(record), plan)

    assert status_of(plan.status) == status_after(record)
    assert said(plan.notes) == events(record)


@pytest.mark.parametrize("record", of("processConcurrencyPolicy"))
def test_concurrency(record: Record) -> None:
    cronjob = cronjob_of(record)
    plan = machine.Plan(cronjob.status)
    failed, (skipped, replaced) = record["output"]["error"], record["output"]["results"]

    room = machine.make_room(cronjob, plan)

    assert room != skipped
    assert bool(plan.replace) == (replaced or bool(failed))
    told = said(plan.notes)
    if failed:
        told.append(f"Warning FailedGet Get job: {failed}")
    elif replaced:
        told += [f'Normal SuccessfulDelete Deleted job "{reference.name}"' for reference in plan.replace]
    assert told == events(record)


@pytest.mark.parametrize("record", of("removeOldestJobs"))
def test_what_is_kept(record: Record) -> None:
    assert machine.oldest(jobs_of(record), argument(record, "maxJobs")) == []
    assert record["output"]["results"] == [False]


@pytest.mark.parametrize("record", of("createJob"))
def test_a_name_that_is_taken(record: Record) -> None:
    client = record["input"].get("jobClient") or {}
    if not (client.get("createErr") and client.get("job")):
        pytest.skip("the name was free")
    cronjob, job = cronjob_of(record), typed(client["job"], Job)

    if machine.owns(cronjob, job):
        assert (job.status.state.phase in machine.OVER) == (record["output"].get("results") is None)
    else:
        assert said([machine.foreign(job)]) == events(record)


@pytest.mark.parametrize("record", of("syncCronJob"))
def test_a_whole_step(record: Record) -> None:
    cronjob, client = cronjob_of(record), record["input"].get("jobClient") or {}
    plan = machine.step(cronjob, jobs_of(record), others_of(record), clock(record))
    told = said(plan.notes)
    if record["output"]["error"] and plan.replace:
        assert [*told, f"Warning FailedGet Get job: {record['output']['error']}"] == events(record)
        return

    status = plan.status
    told += [f'Normal SuccessfulDelete Deleted job "{reference.name}"' for reference in plan.replace]
    status.active = [reference for reference in status.active if reference not in plan.replace]
    if plan.start is not None:
        document = argument(record, "cronJob")
        made = job_for(cronjob, document, plan.start)
        name, meta = made["metadata"]["name"], cronjob.metadata
        job = typed({**made, "metadata": {**made["metadata"], "uid": "test-uid-123"}}, Job)
        if client.get("createErr"):
            if "job" in client and not machine.owns(cronjob, typed(client["job"], Job)):
                told += said([machine.foreign(typed(client["job"], Job))])
        else:
            told.append(f"Normal SuccessfulCreate Created job {name} for CronJob {meta.namespace}/{meta.name}")
            status = machine.settled(status, job, plan.start)
    wait = record["output"]["results"][0]
    assert (duration.format(plan.wait) if plan.wait is not None else None) == wait
    assert told == events(record)
    assert status_of(status) == status_after(record)


@pytest.mark.parametrize("record", of("updateCronJob"))
def test_an_edited_schedule_is_looked_at_again(record: Record) -> None:
    """Then the step says what is wrong with it, or waits for its next time."""
    old, new = (
        {**document, "metadata": {"name": "c", "namespace": "n", **document["metadata"]}}
        for document in ({"metadata": {}, **argument(record, "oldObj")}, {"metadata": {}, **argument(record, "newObj")})
    )

    assert keys_after(CronJobController, "cronjobs", "update", old, new) == ["n/c"]
    notes = [note.reason for note in machine.step(cronjob_of(record), [], {}, clock(record)).notes]
    assert notes == [event.split()[1] for event in events(record)]


def instant(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def said(notes: list[Note]) -> list[str]:
    return [f"{note.type} {note.reason} {note.message}" for note in notes]


def deletions(plan: machine.Plan) -> list[str]:
    return [f'Normal SuccessfulDelete Deleted job "{name}"' for name in plan.remove]


def events(record: Record) -> list[str]:
    found: list[str] = record["output"].get("events") or []
    return found


def status_of(status: CronJobStatus) -> Document:
    document: Document = plain(status)
    for reference in document.get("active", []):
        reference.pop("namespace", None)
    return document


def status_after(record: Record) -> Document:
    arguments = {**record["input"]["args"], **(record["output"].get("argsAfter") or {})}
    return status_of(msgspec.convert(arguments["cronJob"].get("status") or {}, CronJobStatus))
