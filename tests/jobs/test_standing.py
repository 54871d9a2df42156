"""What a job says of itself: it has ended, is held back, waits for another scheduler, or its pods could not be made."""

from __future__ import annotations

from typing import Any

import pytest

from volcano.jobs.standing import by_itself, of_missing_pods

Document = dict[str, Any]
TOLD: Document = {"job": "default/train", "reason": {"code": "NotEnoughTasks"}, "pods": {}}


def job(phase: str = "Pending", reason: str = "", message: str = "") -> Document:
    state = {"phase": phase, "reason": reason, "message": message}
    return {"metadata": {"name": "train", "namespace": "default"}, "status": {"state": state}}


def member(scheduler: str, node: str = "") -> Document:
    labels = {"volcano.sh/job-name": "train"}
    metadata = {"name": "train-w-0", "namespace": "default", "labels": labels}
    return {"metadata": metadata, "spec": {"schedulerName": scheduler, "nodeName": node}}


def event(reason: str, message: str, kind: str = "Job", at: str = "2026-01-01T00:00:00Z") -> Document:
    about = {"kind": kind, "name": "train"}
    return {
        "metadata": {"name": f"train.{at}"},
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "lastTimestamp": at,
    }


@pytest.mark.parametrize(
    ("document", "code", "words"),
    [
        (job("Completed"), "Completed", "it has ended (Completed)"),
        (job("Failed", "", "too often"), "Failed", "waits for nothing: too often"),
        (job("Aborted"), "Aborted", "it is suspended"),
        (job("Pending", "Dependency", "waits for a"), "Dependency", "waits for a"),
        (job("Pending", "DependencyNeverSatisfied", "a failed"), "DependencyNeverSatisfied", "a failed"),
    ],
    ids=["completed", "failed", "suspended", "waits", "never"],
)
def test_what_no_scheduler_decides(document: Document, code: str, words: str) -> None:
    record = by_itself(document)

    assert record is not None
    assert record["code"] == code
    assert words in record["message"]
    assert record["remedy"]


def test_a_failed_job_has_the_reason_of_its_first_failed_pod() -> None:
    pods = [member("volcano") for _ in range(3)]
    for name, pod in zip("cab", pods, strict=True):
        pod["metadata"]["name"] = f"train-{name}"
        pod["status"] = {"phase": "Failed", "reason": "Evicted", "message": f"for {name}"}
    pods[1]["metadata"]["labels"] = {"volcano.sh/job-name": "another"}

    record = by_itself(job("Failed", "RetriesUsedUp", "retries are used up (3 of 3)"), pods)

    assert record is not None
    assert record["message"] == (
        "it has ended (Failed) and waits for nothing: retries are used up (3 of 3); "
        "pod train-b: Evicted: for b (and 1 more failed)"
    )
    assert by_itself(job("Completed"), pods) == by_itself(job("Completed"))


@pytest.mark.parametrize("document", [job(), job("Running"), {"metadata": {"name": "new"}}])
def test_what_is_for_the_scheduler_to_say(document: Document) -> None:
    assert by_itself(document) is None


def test_pods_of_another_scheduler_are_not_missing() -> None:
    told = of_missing_pods(job(), TOLD, [member("foo")], [], ["volcano"])

    assert told["reason"]["code"] == "OtherScheduler"
    assert "1 of its pods exist and wait for scheduler foo" in told["reason"]["message"]
    assert told["pods"] == {"default/train-w-0": {"status": "waits for scheduler foo", "node": ""}}


def test_why_pods_could_not_be_made_says_the_newest_event() -> None:
    events = [
        event("FailedCreate", "no PriorityClass with name nope was found", at="2026-01-02T00:00:00Z"),
        event("FailedCreate", "older"),
        event("FailedCreate", "of a namesake", kind="ReplicaSet", at="2026-01-03T00:00:00Z"),
    ]

    told = of_missing_pods(job(), TOLD, [member("volcano")], events, ["volcano"])

    assert told["reason"]["code"] == "FailedCreate"
    assert told["reason"]["message"] == "no PriorityClass with name nope was found"


def test_other_reasons_stand() -> None:
    told = {**TOLD, "reason": {"code": "QueueNotOpen"}}

    assert of_missing_pods(job(), told, [member("foo")], [event("FailedCreate", "no")], ["volcano"]) == told
    assert of_missing_pods(job(), TOLD, [member("foo", node="n1")], [], ["volcano"]) == TOLD
