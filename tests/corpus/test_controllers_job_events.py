"""What the job controller makes of watch events, against recorded requests, and its bookkeeping of pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.corpus.controller_records import (
    Document,
    argument,
    job_of,
    member,
    members_of,
    typed,
)
from tests.corpus.loader import Record, cases, parameters
from volcano.api import keys
from volcano.api.batch import Job
from volcano.api.scheduling import PodGroup
from volcano.controllers.job import events
from volcano.controllers.job.kill import OUT_OF_SYNC_PATCH
from volcano.controllers.job.members import Member, Members, NotAMember, member_of
from volcano.controllers.job.policies import task_named
from volcano.controllers.views import PodView

EVENTS = cases("controllers", "job-events")
BOOKKEEPING = [case for area in ("job-info", "job-cache") for case in cases("controllers", area)]
HELPERS = cases("controllers", "job-helpers")


@pytest.mark.parametrize("record", parameters(EVENTS))
def test_event(record: Record) -> None:
    function = record["function"].rpartition(".")[2]
    handler = HANDLERS.get(function)
    if handler is None:
        pytest.skip(f"{function} has no counterpart here")

    found = handler(record)

    described = [describe(event) for event in found if event is not None]
    if described and not record["output"].get("enqueued") and function in {"updateJob", "addPod"}:
        pytest.skip("the same request was still waiting in upstream's queue")
    assert described == requests(record)


def on_job_added(record: Record) -> list[events.Event | None]:
    del record
    return [events.SYNC]


def on_job_updated(record: Record) -> list[events.Event | None]:
    old, new = typed(argument(record, "oldObj"), Job), typed(argument(record, "newObj"), Job)
    if int(new.metadata.resource_version or 0) < int(old.metadata.resource_version or 0):
        return [None]
    return [events.job_changed(old, new)]


def on_command_added(record: Record) -> list[events.Event | None]:
    command = argument(record, "obj")
    return [events.command_issued(command["action"])] if isinstance(command, dict) else [None]


def on_pod_added(record: Record) -> list[events.Event | None]:
    pod = argument(record, "obj")
    new, job, members = world(record, pod)
    if new is None:
        return [None]
    members.put(new)
    return [events.pod_added(new, members, task_named(job, new.task))]


def on_pod_updated(record: Record) -> list[events.Event | None]:
    before, after = argument(record, "oldObj"), argument(record, "newObj")
    new, job, members = world(record, after)
    old = typed_member(before)
    if new is None or old is None or before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]:
        return [None]
    members.put(new)
    return [events.pod_updated(old, new, members, task_named(job, new.task))]


def on_pod_deleted(record: Record) -> list[events.Event | None]:
    gone, _, members = world(record, argument(record, "obj"))
    if gone is None:
        return [None]
    return [events.pod_deleted(gone, known=members.get(gone.task, gone.name) is not None)]


def on_podgroup_updated(record: Record) -> list[events.Event | None]:
    old, new = typed(argument(record, "oldObj"), PodGroup), typed(argument(record, "newObj"), PodGroup)
    return [events.podgroup_changed(old.status.phase, new.status.phase)]


HANDLERS: dict[str, Callable[[Record], list[events.Event | None]]] = {
    "addJob": on_job_added,
    "updateJob": on_job_updated,
    "addCommand": on_command_added,
    "addPod": on_pod_added,
    "updatePod": on_pod_updated,
    "deletePod": on_pod_deleted,
    "updatePodGroup": on_podgroup_updated,
}


@pytest.mark.parametrize("record", parameters(BOOKKEEPING))
def test_bookkeeping(record: Record) -> None:
    function = record["function"].rpartition(".")[2]
    if function in {"Clone", "SetJob", "Add", "Update", "Delete"}:
        pytest.skip("jobs are kept by the informer, not by a cache of the controller's own")
    pod = argument(record, "pod", "newPod") or {}
    if function == "GetPartitionID":
        partition = pod["metadata"]["labels"].get(keys.PARTITION_ID, "")
        assert partition == record["output"]["results"][0]
        return
    if reason := tolerated(record["output"].get("error") or ""):
        pytest.skip(reason)
    info = info_of(record, pod)
    members = members_of(info)
    error = record["output"].get("error")
    match function:
        case "TaskCompleted":
            job = job_of(info)
            name = argument(record, "taskName")
            task = task_named(job, name)
            done = task is not None and 0 < task.replicas <= members.count(name, "Succeeded")
            assert done == record["output"]["results"][0]
        case "HasPod":
            task = (pod["metadata"].get("annotations") or {}).get(keys.TASK_SPEC, "")
            assert (members.get(task, pod["metadata"]["name"]) is not None) == record["output"]["results"][0]
        case "AddPod" | "UpdatePod" | "DeletePod":
            view = typed(pod, PodView)
            if error is not None:
                with pytest.raises(NotAMember, match=error.split(" of ")[0]):
                    member_of(view)
                return
            changed = member_of(view)
            if function == "DeletePod":
                members.drop(changed.task, changed.name)
            else:
                members.put(changed)
            assert names(members) == expected_names(record, info, pod)
        case other:
            pytest.skip(f"{other} has no counterpart here")


@pytest.mark.parametrize("record", parameters(HELPERS))
def test_helper(record: Record) -> None:
    result = (record["output"].get("results") or [None])[0]
    match record["function"]:
        case "GetTaskReplicasUnderJob":
            task = task_named(typed(argument(record, "job"), Job), argument(record, "taskName"))
            assert (task.replicas if task else 0) == result
        case "IsOutOfSyncPod":
            assert member(argument(record, "pod"), "t").out_of_sync == result
        case "OutOfSyncJSONPatch":
            (operation,) = result
            ((key, value),) = OUT_OF_SYNC_PATCH["metadata"]["annotations"].items()
            assert operation["path"].endswith(key.replace("/", "~1"))
            assert operation["value"] == value
        case other:
            pytest.skip(f"{other}: the scheduler's and upstream's own; replicas are cast by index here")


def world(record: Record, pod: Any) -> tuple[Member | None, Job, Members]:
    new = typed_member(pod)
    cache = (record["input"].get("existing") or {}).get("jobCache") or {}
    info: Document = next(iter(cache.values()), {"job": {}})
    return new, job_of(info), members_of(info)


def typed_member(pod: Any) -> Member | None:
    if not isinstance(pod, dict):
        return None
    view = typed(pod, PodView)
    if not any(owner.controller and owner.kind == "Job" for owner in view.metadata.owner_references):
        return None
    try:
        return member_of(view)
    except NotAMember:
        return None


def requests(record: Record) -> list[tuple[Any, ...]]:
    queued = record["output"].get("enqueued") or {}
    found = [request for name in sorted(queued) for request in queued[name]]
    return [
        (corrected(record, item["event"]), item["action"], item["taskName"], item["podName"], item["exitCode"])
        for item in found
        if "event" in item
    ]


def corrected(record: Record, event: str) -> str:
    """A pod that is seen for the first time while it runs (or has ended) is not pending: no timeout may start."""
    phase = ((argument(record, "obj") or {}).get("status") or {}).get("phase") if event == "PodPending" else None
    if record["function"].endswith("addPod") and phase in {"Running", "Failed"}:
        return f"Pod{phase}"
    return event


def describe(event: events.Event) -> tuple[Any, ...]:
    return str(event.kind), event.action, event.task, event.pod, event.exit_code


def info_of(record: Record, pod: Document) -> Document:
    given: Document | None = argument(record, "self")
    if given is not None:
        return given
    cache = (record["input"].get("existing") or {}).get("jobCache") or {}
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    key = (
        argument(record, "jobKey") or f"{(pod.get('metadata') or {}).get('namespace')}/{annotations.get(keys.JOB_NAME)}"
    )
    found: Document = cache.get(key) or {"job": {}}
    return found if "job" in found else {**found, "job": {}}


def tolerated(error: str) -> str:
    """What upstream's cache refuses and ours takes in its stride."""
    if "duplicated" in error:
        return "a pod that is added twice replaces itself"
    if "can not find" in error or "not exist" in error:
        return "an update of a pod not seen before adds it"
    if "failed to find job name" in error:
        return "pods belong to the job that owns them, whatever their annotations call it"
    return ""


def names(members: Members) -> dict[str, set[str]]:
    return {task: set(pods.by_name) for task, pods in members.tasks.items() if pods.by_name}


def expected_names(record: Record, info: Document, pod: Document) -> dict[str, set[str]]:
    after = (record["output"].get("argsAfter") or {}).get("self")
    if after is None:
        cache = record["output"].get("jobCacheAfter") or {}
        annotations = pod["metadata"]["annotations"]
        after = cache.get(f"{pod['metadata']['namespace']}/{annotations.get(keys.JOB_NAME)}") or info
    return {task: set(pods) for task, pods in (after.get("pods") or {}).items() if pods}
