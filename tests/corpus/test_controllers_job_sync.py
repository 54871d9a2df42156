"""Kills and syncs of jobs against recorded calls, with the helpers beneath them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import pytest

from tests.corpus.controller_deviations import corrected_status
from tests.corpus.controller_records import (
    Document,
    argument,
    existing,
    facts_of,
    job_info,
    job_of,
    member,
    members_of,
    merged,
    names_written,
    now_of,
    plain,
    podgroup_of,
    pruned,
    typed,
    writes,
)
from tests.corpus.loader import Record, cases, parameters
from volcano.api import keys
from volcano.api.batch import Job, JobStatus, TaskSpec
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import PodGroup
from volcano.controllers.job import counts, dependencies, machine
from volcano.controllers.job.events import Event
from volcano.controllers.job.kill import kill_job, kill_target
from volcano.controllers.job.members import Members
from volcano.controllers.job.outcomes import Outcome, always
from volcano.controllers.job.plan import Plan
from volcano.controllers.job.sync import sync_job
from volcano.controllers.job.vocabulary import Action, Phase

CASES = [case for area in ("job-sync", "job-sync-nested") for case in cases("controllers", area)]
ATTACHMENTS = {
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "Service": "services",
    "NetworkPolicy": "networkpolicies",
}
ACTION_OF_TARGET = {
    "task": Action.RESTART_TASK,
    "pod": Action.RESTART_POD,
    "partition": Action.RESTART_PARTITION,
}


def of(*functions: str) -> list[tuple[str, Record]]:
    return [case for case in CASES if case[1]["function"].rpartition(".")[2] in functions]


@pytest.mark.parametrize("record", parameters(of("killPods", "killJob")))
def test_kill(record: Record) -> None:
    info = job_info(record)
    job, members, now, facts = job_of(info), members_of(info), now_of(record), facts_of(record)
    before = info["job"].get("status") or {}
    after = written_status(record) or before
    retries = after.get("retryCount", 0) - job.status.retry_count
    outcome = recorded_outcome(record, job)
    target = argument(record, "target")

    if target:
        order = Event(
            action=ACTION_OF_TARGET[target["type"]],
            task=target["taskName"],
            pod=target["podName"],
            partition=target["partitionName"],
        )
        plan = kill_target(job, members, now, facts, event=order, outcome=outcome, retries=retries)
    else:
        spare = {name for name, kept in (argument(record, "podRetainPhase") or {}).items() if kept}
        podgroup = podgroup_of(record, job)
        plan = kill_job(job, members, podgroup, now, facts, outcome=outcome, spare=spare, retries=retries)

    expected = corrected_status(record, before, info, after)
    if plan.status is None and not target:  # a kill that changes nothing is not written
        expected["version"] = before.get("version", 0)
    if not record["function"].endswith("killJob") and not plan.podgroup_delete:
        assert not writes(record, "delete", "podgroups")
    assert pruned(plain(plan.status or job.status)) == pruned(expected)
    assert_same_pods(record, plan)
    for kind, plural in ATTACHMENTS.items():
        gone = {reference.name for reference in plan.detach if reference.kind == kind}
        assert gone == names_written(record, "delete", plural)


@pytest.mark.parametrize("record", parameters(of("syncJob", "initiateJob", "initOnJobUpdate")))
def test_sync(record: Record) -> None:
    info = job_info(record)
    job = job_of(info)
    members = members_of(info)
    podgroup = podgroup_of(record, job)

    plan = sync_job(job, members, podgroup, now_of(record), facts_of(record), outcome=recorded_outcome(record, job))

    for kind, plural in ATTACHMENTS.items():
        made = {item.reference.name for item in plan.attach if item.reference.kind == kind}
        present = {item["metadata"]["name"] for item in existing(record, plural)}
        assert made - present == names_written(record, "create", plural)
    for write in writes(record, "create", "podgroups"):
        assert pruned(plan.podgroup_create) == pruned(write["object"])
    for write in writes(record, "update", "podgroups"):
        assert podgroup is not None
        assert plan.podgroup_patch is not None
        assert pruned(merged(plain(podgroup), plan.podgroup_patch[1])) == pruned(write["object"])
    if record["function"].endswith("syncJob"):
        assert_same_pods(record, plan)
        for write in writes(record, "update", "jobs"):
            before = info["job"].get("status") or {}
            record["output"]["delegate"] = "SyncJob"
            expected = corrected_status(record, before, info, write["object"].get("status") or {})
            assert pruned(plain(plan.status or job.status)) == pruned(expected)


@pytest.mark.parametrize("record", parameters(of("createJobIOIfNotExist")))
def test_claims(record: Record) -> None:
    job = typed(argument(record, "job"), Job)
    plan = machine.act(job, Members(), None, Event(action=Action.SYNC_JOB), now_of(record), facts_of(record))

    created = [claim for claim in plan.claims if claim.manifest is not None]
    assert len(created) == len(writes(record, "create", "persistentvolumeclaims"))
    assert bool(plan.claim_names) == any(write["verb"] == "update" for write in record["output"].get("writes") or [])


@pytest.mark.parametrize("record", parameters(of("isDependsOnPodsReady")))
def test_dependency(record: Record) -> None:
    job = typed(argument(record, "job"), Job)
    name = argument(record, "task")
    name = name if isinstance(name, str) else name["name"]
    members = Members(members_among(existing(record, "pods"), name))

    assert dependencies.is_ready(job, name, members) == record["output"]["results"][0]


@pytest.mark.parametrize("record", parameters(of("appendJobCondition")))
def test_condition(record: Record) -> None:
    before = typed({"conditions": argument(record, "conditions") or []}, JobStatus)
    added = argument(record, "c")

    after = counts.entered(before, Phase(added["status"]), now_of(record))

    expected = record["output"]["results"][0]
    assert [condition.status for condition in after.conditions] == [item["status"] for item in expected]


@pytest.mark.parametrize("record", parameters(of("deleteJobPod")))
def test_deleted_pod(record: Record) -> None:
    """Whatever its name, a pod that no index calls for goes."""
    pod: Document = argument(record, "pod")
    job = Job(metadata=ObjectMeta(name=argument(record, "jobName")))
    job.spec.tasks = [TaskSpec(name="task")]
    admitted = typed({"status": {"phase": "Running"}}, PodGroup)

    plan = machine.act(job, Members([member(pod, "task")]), admitted, Event(action=Action.SYNC_JOB), now_of(record))

    assert_same_pods(record, plan)


def assert_same_pods(record: Record, plan: Plan) -> None:
    assert {item.name for item in plan.evict} == names_written(record, "delete", "pods")
    assert {replica.name for replica in plan.create} == names_written(record, "create", "pods")


def written_status(record: Record) -> Document:
    recorded = writes(record, "update", "jobs")
    status: Document = recorded[0]["object"].get("status") or {} if recorded else {}
    return status


def recorded_outcome(record: Record, job: Job) -> Outcome:
    """The phase that was written: these calls got their phase decision handed in."""
    phase = (written_status(record).get("state") or {}).get("phase") or job.status.state.phase
    return always(Phase(phase) if phase else cast("Phase", job.status.state.phase))


def members_among(pods: Iterable[Document], task: str) -> Iterable[Any]:
    for pod in pods:
        annotations = (pod["metadata"].get("annotations") or {}).get(keys.TASK_SPEC, task)
        yield member(pod, annotations)
