"""PodGroups of jobs against recorded ones: what is created, what an edit of the job changes, minimal resources."""

from __future__ import annotations

import pytest

from tests.corpus.controller_records import (
    Document,
    argument,
    facts_of,
    merged,
    plain,
    podgroup_of,
    pruned,
    typed,
    writes,
)
from tests.corpus.loader import Record, cases, parameters
from volcano.api.batch import Job, TaskSpec
from volcano.api.scheduling import PodGroup
from volcano.controllers import quota
from volcano.controllers.job import podgroup as podgroups

CASES = [case for area in ("job-podgroup", "job-podgroup-*") for case in cases("controllers", area)]


def of(function: str) -> list[tuple[str, Record]]:
    return [case for case in CASES if case[1]["function"].endswith(function)]


@pytest.mark.parametrize("record", parameters(of("createOrUpdatePodGroup")))
def test_created_or_updated(record: Record) -> None:
    job = typed(argument(record, "job"), Job)
    facts = facts_of(record)
    present = podgroup_of(record, job)
    if present is None:
        (write,) = writes(record, "create", "podgroups")
        assert pruned(podgroups.build(job, facts.priorities)) == pruned(write["object"])
        return
    change = podgroups.changes(job, present, facts.priorities)
    written = [write["object"] for write in writes(record, "update", "podgroups")] or [plain(present)]
    assert pruned(merged(plain(present), change)) == pruned(with_all_edits(job, written[0]))


@pytest.mark.parametrize("record", parameters(of("shouldUpdateExistingPodGroup")))
def test_changes(record: Record) -> None:
    job = typed(argument(record, "job"), Job)
    document = argument(record, "pg")
    present = typed(document, PodGroup)

    change = podgroups.changes(job, present, facts_of(record).priorities)

    after = (record["output"].get("argsAfter") or {}).get("pg") or document
    expected = with_all_edits(job, after)
    assert pruned(merged(plain(present), change)) == pruned(expected)
    assert bool(change) == (record["output"]["results"][0] or pruned(expected) != pruned(after))


@pytest.mark.parametrize("record", parameters(of("calcPGMinResources")))
def test_minimum_resources(record: Record) -> None:
    job = typed(argument(record, "job"), Job)

    found = quota.written(podgroups.minimum_resources(job, facts_of(record).priorities))

    assert found == (record["output"].get("results") or [{}])[0]


@pytest.mark.parametrize("record", parameters(of("TasksPriority.CalcPGMinResources")))
def test_resources_of_first(record: Record) -> None:
    entries: list[Document] = argument(record, "self") or []
    entries.sort(key=lambda entry: -entry["priority"])
    tasks = [typed(entry["TaskSpec"], TaskSpec) for entry in entries]

    found = podgroups.resources_of_first(tasks, argument(record, "jobMinAvailable"), minimum=0)

    assert quota.written(found) == (record["output"].get("results") or [{}])[0]


@pytest.mark.parametrize("record", parameters(of("getSubGroupPolicy")))
def test_subgroup(record: Record) -> None:
    task = typed(argument(record, "taskSpec"), TaskSpec)

    assert pruned(plain(podgroups.subgroup_of(task))) == pruned(record["output"]["results"][0])


@pytest.mark.parametrize("record", parameters(of("recordPodGroupEvent")))
def test_complaint(record: Record) -> None:
    complaint = podgroups.complaint(typed(argument(record, "podGroup", "pg"), PodGroup))

    events = record["output"].get("events") or []
    assert bool(complaint) == bool(events)
    if complaint is not None:
        assert f"{complaint.type.lower()}, reason: {complaint.message}" in str(events[0])


def with_all_edits(job: Job, recorded: Document) -> Document:
    """Upstream never carries edits of labels, annotations, queue and topology over to the group; we do."""
    meta = dict(recorded["metadata"])
    meta["labels"] = {**(meta.get("labels") or {}), **job.metadata.labels}
    meta["annotations"] = {**(meta.get("annotations") or {}), **job.metadata.annotations}
    spec = dict(recorded["spec"])
    if job.spec.queue:
        spec["queue"] = job.spec.queue
    spec["networkTopology"] = plain(job.spec.network_topology)
    return {**recorded, "metadata": meta, "spec": spec}
