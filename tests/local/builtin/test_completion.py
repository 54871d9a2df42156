"""batch/v1 Jobs: how many pods run, when the job is over, retries and their pauses."""

from __future__ import annotations

from typing import Any

import pytest

from volcano.api.meta import JsonObject
from volcano.local.builtin import completion
from volcano.local.builtin.views import ConditionView, LabelledMeta, PodSpecView, PodStatusView, PodView
from volcano.local.times import timestamp

NOW = 1000.0


def job(status: JsonObject | None = None, **spec: Any) -> JsonObject:
    return {"metadata": {"name": "j", "namespace": "default", "uid": "j1"}, "spec": spec, "status": status or {}}


def worker(name: str, phase: str = "Running", *, ended: float = 0.0) -> PodView:
    changed = ConditionView(type="Ready", status="False", last_transition_time=timestamp(ended))
    return PodView(
        metadata=LabelledMeta(name=name, namespace="default", uid=name, creation_timestamp="1970-01-01T00:00:00Z"),
        spec=PodSpecView(node_name="n1"),
        status=PodStatusView(phase=phase, conditions=[changed]),
    )


def step(document: JsonObject, *pods: PodView, now: float = NOW) -> completion.JobStep:
    return completion.step(document, pods, now, may_act=True)


def condition(status: JsonObject) -> list[tuple[str, str]]:
    return [(c["type"], c["reason"]) for c in status["conditions"] if c["status"] == "True"]


@pytest.mark.parametrize(
    ("spec", "phases", "created"),
    [
        ({}, [], 1),
        ({"completions": 5, "parallelism": 2}, [], 2),
        ({"completions": 5, "parallelism": 2}, ["Running"], 1),
        ({"completions": 5, "parallelism": 2}, ["Succeeded"] * 4, 1),
        ({"parallelism": 3}, ["Running"], 2),
        ({"parallelism": 3}, ["Succeeded", "Running"], 0),
        ({"completions": 1, "suspend": True}, [], 0),
    ],
)
def test_pods_are_created_up_to_parallelism_and_what_is_left(spec: JsonObject, phases: list[str], created: int) -> None:
    assert len(step(job(**spec), *(worker(f"w{n}", phase) for n, phase in enumerate(phases))).create) == created


def test_enough_successes_complete_the_job() -> None:
    result = step(job(completions=2), worker("a", "Succeeded"), worker("b", "Succeeded"))

    assert condition(result.status) == [
        ("SuccessCriteriaMet", "CompletionsReached"),
        ("Complete", "CompletionsReached"),
    ]
    assert result.status["completionTime"] == timestamp(NOW)
    assert result.status["succeeded"] == 2


def test_a_work_queue_is_over_when_one_succeeded_and_none_runs() -> None:
    assert condition(step(job(parallelism=2), worker("a", "Succeeded"), worker("b")).status) == []
    assert ("Complete", "CompletionsReached") in condition(step(job(parallelism=2), worker("a", "Succeeded")).status)


def test_failures_are_retried_after_growing_pauses_up_to_the_limit() -> None:
    once = step(job(backoffLimit=1), worker("a", "Failed", ended=NOW - 4))
    later = step(job(backoffLimit=1), worker("a", "Failed", ended=NOW - 11))
    set_back = step(job(backoffLimit=1), worker("a", "Failed", ended=NOW + 3600))
    over = step(job(backoffLimit=1), worker("a", "Failed"), worker("b", "Failed"), worker("c"))

    assert (once.create, once.again_seconds) == ([], 6.0)
    assert (set_back.create, set_back.again_seconds) == ([], 10.0)
    assert len(later.create) == 1
    assert ("Failed", "BackoffLimitExceeded") in condition(over.status)
    assert [pod.metadata.name for pod in over.delete] == ["c"]


def test_a_deadline_fails_the_job() -> None:
    started = {"startTime": timestamp(NOW - 60)}

    assert ("Failed", "DeadlineExceeded") in condition(step(job(started, activeDeadlineSeconds=60), worker("a")).status)
    assert step(job(started, activeDeadlineSeconds=90), worker("a")).again_seconds == pytest.approx(30.1)


def test_successes_are_remembered_when_their_pods_are_gone() -> None:
    assert step(job({"succeeded": 3}, completions=4, parallelism=4)).create == [None]


def test_indexed_jobs_give_each_index_one_success() -> None:
    document = job(completions=4, parallelism=4, completionMode="Indexed")
    result = step(document, worker("j-0-abcde", "Succeeded"), worker("j-2-abcde"))

    assert result.create == [1, 3]
    assert result.status["completedIndexes"] == "0"


def test_a_suspended_job_gives_its_pods_back_and_resumes() -> None:
    suspended = step(job(completions=1, suspend=True), worker("a"))
    assert condition(suspended.status) == [("Suspended", "JobSuspended")]
    assert len(suspended.delete) == 1

    resumed = step(job(suspended.status, completions=1))
    assert condition(resumed.status) == []
    assert len(resumed.create) == 1


def test_a_finished_job_expires() -> None:
    done = step(job(completions=0), now=NOW)
    document = job(done.status, completions=0, ttlSecondsAfterFinished=30)

    assert completion.expires_in(document, NOW + 10) == 20.0
    assert completion.expires_in(job(done.status), NOW) is None


@pytest.mark.parametrize(("indexes", "text"), [(set(), ""), ({3}, "3"), ({0, 1, 2, 5, 7, 8}, "0-2,5,7-8")])
def test_indexes_in_short(indexes: set[int], text: str) -> None:
    assert completion.ranges(indexes) == text
