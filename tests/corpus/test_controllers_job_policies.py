"""Policy resolution against recorded answers: which action, after which delay."""

from __future__ import annotations

import pytest

from tests.corpus.controller_records import argument, typed
from tests.corpus.loader import Record, cases, parameters
from volcano.api import duration
from volcano.api.batch import Job
from volcano.controllers.job import policies
from volcano.controllers.job.events import Event
from volcano.controllers.job.vocabulary import Action, EventKind

CASES = [case for area in ("job-policies", "job-policies-derived") for case in cases("controllers", area)]


@pytest.mark.parametrize("record", parameters(CASES))
def test_resolution(record: Record) -> None:
    request = argument(record, "req")
    job = typed(argument(record, "job"), Job)
    event = Event(
        request["event"],
        action=request["action"],
        task=request["taskName"],
        pod=request["podName"],
        pod_uid=request["podUID"],
        partition=request["partitionID"],
        exit_code=request["exitCode"],
        job_uid=request["jobUid"],
        version=None if request["event"] == EventKind.UNKNOWN else request["jobVersion"],
    )

    found = policies.resolve(job, event)

    expected = record["output"]["results"]["delayAct"]
    if answers_podgroup_after_a_kill(job, event):
        assert found.action != Action.SYNC_JOB
        return
    assert (found.action, found.delay) == (expected["action"], duration.parse(expected["delay"]))


def answers_podgroup_after_a_kill(job: Job, event: Event) -> bool:
    """PodGroup events carry no version: upstream drops them for good after a job's first kill, we do not."""
    answered = any("Unknown" in {policy.event, *policy.events} or policy.event == "*" for policy in job.spec.policies)
    return event.kind == EventKind.UNKNOWN and job.status.version > 0 and answered
