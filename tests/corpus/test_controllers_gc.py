"""Removal of finished jobs against recorded calls."""

from __future__ import annotations

import datetime

import pytest

from tests.corpus.controller_records import Document, argument, existing, now_of, typed
from tests.corpus.loader import Record, cases, parameters
from volcano.api.batch import Job
from volcano.controllers.gc import expiry
from volcano.controllers.job.vocabulary import FINAL

CASES = [case for area in ("garbagecollector", "garbagecollector-derived") for case in cases("controllers", area)]


@pytest.mark.parametrize("record", parameters(CASES))
def test_expiry(record: Record) -> None:
    results, error = record["output"].get("results"), record["output"].get("error")
    now = now_of(record)
    if record["function"].endswith("processJob"):
        jobs = [typed(job, Job) for job in existing(record, "jobs")]
        due = [
            job.metadata.name
            for job in jobs
            if expiry.expires(job) and expiry.time_left(job, now) <= datetime.timedelta(0)
        ]
        deleted = [write["name"] for write in record["output"].get("writes") or [] if write["verb"] == "delete"]
        assert due == deleted
        return
    document = argument(record, "job", "j", "finishedJob")
    if document is None:
        pytest.skip(f"{record['function']} has no counterpart here")
    job = job_of(document)
    if error:
        with pytest.raises(ValueError, match=r"finished|should not be cleaned up"):
            expiry.expiry(job)
        return
    match record["function"].rpartition(".")[2]:
        case "processTTL":
            assert is_due(job, now) == results["expired"]
        case "needsCleanup":
            assert expiry.expires(job) == results[0]
        case "isJobFinished":
            assert (job.status.state.phase in FINAL) == results[0]
        case "timeLeft":
            since = datetime.datetime.fromisoformat(argument(record, "since"))
            assert expiry.time_left(job, since) == datetime.timedelta(microseconds=results[0] / 1000)
        case "jobFinishTime":
            assert expiry.finish_time(job) == datetime.datetime.fromisoformat(results[0])
        case "getFinishAndExpireTime":
            finish, expire = (datetime.datetime.fromisoformat(text) for text in results)
            assert (expiry.finish_time(job), expiry.expiry(job)) == (finish, expire)


def job_of(document: Document) -> Job:
    return typed(document, Job)


def is_due(job: Job, now: datetime.datetime) -> bool:
    return expiry.expires(job) and expiry.time_left(job, now) <= datetime.timedelta(0)
