"""What the job controller knows of jobs and their pods, against upstream's cache of its own.

Jobs are kept by the informer, pods by `ledger.Pods` as `Members`. Where upstream's cache refuses, ours takes it in its
stride, and the test asserts what it knows afterwards.
"""

from __future__ import annotations

import pytest

from tests.corpus.controller_records import Document, argument, job_of, members_of, plain, pruned, typed
from tests.corpus.loader import Record, cases, parameters
from volcano.api import keys, resources
from volcano.api.batch import Job
from volcano.controllers.job import events, podgroup as podgroups
from volcano.controllers.job.ledger import Ledger
from volcano.controllers.job.members import Members, NotAMember, member_of
from volcano.controllers.job.policies import task_named
from volcano.controllers.job.vocabulary import EventKind, PodPhase
from volcano.controllers.views import PodView
from volcano.kube.codec import WatchEvent
from volcano.kube.informer import Informer

CASES = [case for area in ("job-info", "job-cache") for case in cases("controllers", area)]
VERBS = {"Add": "ADDED", "Update": "MODIFIED", "Delete": "DELETED"}
POD_CALLS = {"AddPod", "UpdatePod", "DeletePod"}


def of(*functions: str) -> list[tuple[str, Record]]:
    return [case for case in CASES if case[1]["function"].rpartition(".")[2] in functions]


def others(*functions: str) -> list[tuple[str, Record]]:
    return [case for case in CASES if case[1]["function"].rpartition(".")[2] not in functions]


@pytest.mark.parametrize("record", parameters(of(*VERBS)))
def test_job_is_told(record: Record) -> None:
    """Told twice, changed before it was added, or gone before it was known: the collection shows what was told last."""
    verb = record["function"].rpartition(".")[2]
    told = typed(argument(record, "job", "obj"), Job)
    known = informer_of(record)
    before = known.store.get(told.metadata.key)
    if verb == "Update" and record["output"]["error"] and before is not None:
        assert Ledger(written=before).job(told) is before  # older than what we have written ourselves
        return

    tell(known, VERBS[verb], told)

    same = before is not None and before.metadata.resource_version == told.metadata.resource_version != ""
    expected = before if same else told
    assert known.store.get(told.metadata.key) == (None if verb == "Delete" else expected)
    if not record["output"]["error"]:
        after = record["output"].get("jobCacheAfter") or cache_of(record)
        assert known.store.keys() == {key for key, info in after.items() if info.get("job")}


@pytest.mark.parametrize("record", parameters(of(*POD_CALLS)))
def test_pod_is_told(record: Record) -> None:
    verb = record["function"].rpartition(".")[2]
    pod = argument(record, "pod", "newPod")
    view, info = typed(pod, PodView), info_of(record, pod)
    members = members_of(info)
    error = record["output"]["error"]
    if says_not_whose(view):
        assert error
        with pytest.raises(NotAMember, match=error.split(" of ")[0]):
            member_of(view)
        return
    member = member_of(view)

    if verb == "DeletePod":
        members.drop(member.task, member.name)
    else:
        members.put(member)

    if error:  # known already, not known yet, or without the name of its job (its owner says that)
        assert members.get(member.task, member.name) == (None if verb == "DeletePod" else member)
    else:
        assert names(members) == names_in(info_after(record, info, pod))


@pytest.mark.parametrize("record", parameters(others(*VERBS, *POD_CALLS)))
def test_what_is_known(record: Record) -> None:
    pod = argument(record, "pod") or {}
    info = info_of(record, pod)
    members = members_of(info)
    results = record["output"].get("results") or [False]
    match record["function"].rpartition(".")[2]:
        case "GetPartitionID":
            labels = pod["metadata"].get("labels") or {}
            assert labels.get(keys.PARTITION_ID, "") == results[0]
        case "TaskCompleted":
            job, name = job_of(info), argument(record, "taskName")
            task = task_named(job, name)
            done = [
                event
                for member in members.of(name).values()
                if member.phase == PodPhase.SUCCEEDED
                and (event := events.pod_added(member, members, task)).kind == EventKind.TASK_COMPLETED
            ]
            assert bool(done) == results[0]
        case "TaskFailed":
            job, name = job_of(info), argument(record, "taskName")
            told = [
                events.pod_updated(member, member, members, task_named(job, name))
                for member in members.of(name).values()
                if member.phase in {PodPhase.PENDING, PodPhase.RUNNING}
            ]
            assert (EventKind.TASK_FAILED in {event.kind for event in told}) == results[0]
        case "HasPod":
            task = (pod["metadata"].get("annotations") or {}).get(keys.TASK_SPEC, "")
            assert (members.get(task, pod["metadata"]["name"]) is not None) == results[0]
        case "Clone":
            assert names(Members(members)) == names_in(results[0])
        case "SetJob":
            after = record["output"]["argsAfter"]["self"].get("partitions") or {}
            job = typed(argument(record, "job"), Job)
            groups = {task.name: podgroups.subgroup_of(task) for task in job.spec.tasks}
            assert {name: pruned(plain(group.network_topology)) for name, group in groups.items() if group} == {
                name: pruned(partition.get("NetworkTopology")) for name, partition in after.items()
            }
        case "Get" | "GetStatus" | "GetByKey":
            key = argument(record, "key", "jobKey")
            assert (informer_of(record).store.get(key) is None) == bool(record["output"]["error"])
        case other:
            pytest.skip(f"{other} has no counterpart here")


def tell(known: Informer[Job], verb: str, job: Job) -> None:
    known._apply(WatchEvent(verb, job, job.metadata.resource_version))


def cache_of(record: Record) -> dict[str, Document]:
    found: dict[str, Document] = (record["input"].get("existing") or {}).get("jobCache") or {}
    return found


def informer_of(record: Record) -> Informer[Job]:
    known = Informer(None, resources.JOBS)  # type: ignore[arg-type]
    for info in cache_of(record).values():
        if info.get("job"):
            tell(known, "ADDED", job_of(info))
    return known


def info_of(record: Record, pod: Document) -> Document:
    given: Document | None = argument(record, "self")
    if given is not None:
        return given
    key = argument(record, "jobKey") or key_of(pod)
    return {"job": {}, **(cache_of(record).get(key) or {})}


def info_after(record: Record, info: Document, pod: Document) -> Document:
    given: Document | None = (record["output"].get("argsAfter") or {}).get("self")
    return given or (record["output"].get("jobCacheAfter") or {}).get(key_of(pod)) or info


def key_of(pod: Document) -> str:
    meta = pod.get("metadata") or {}
    return f"{meta.get('namespace')}/{(meta.get('annotations') or {}).get(keys.JOB_NAME)}"


def says_not_whose(pod: PodView) -> bool:
    return not {keys.TASK_SPEC, keys.JOB_VERSION} <= pod.metadata.annotations.keys()


def names(members: Members) -> dict[str, set[str]]:
    return {task: set(pods.by_name) for task, pods in members.tasks.items() if pods.by_name}


def names_in(info: Document) -> dict[str, set[str]]:
    return {task: set(pods) for task, pods in (info.get("pods") or {}).items() if pods}
