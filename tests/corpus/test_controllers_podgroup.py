"""PodGroups of pods that no vcjob made, against recorded ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.corpus.controller_records import Document, argument, existing, merged, pruned, typed, writes
from tests.corpus.loader import Record, cases, parameters
from volcano.api import keys
from volcano.api.meta import controller_of
from volcano.controllers import quota
from volcano.controllers.podgroup import build
from volcano.controllers.views import PodView

CASES = [case for area in ("podgroup", "podgroup-nested") for case in cases("controllers", area)]
WORKLOADS = {"ReplicaSet": "replicasets", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets", "Job": "jobs"}


def of(*functions: str) -> list[tuple[str, Record]]:
    return [case for case in CASES if case[1]["function"].rpartition(".")[2] in functions]


@pytest.mark.parametrize("record", parameters(of("buildPodGroupFromPod")))
def test_built(record: Record) -> None:
    pod = argument(record, "pod")

    group = build.build(pod, argument(record, "pgName"), owner_annotations(record, pod))

    assert pruned(group) == pruned(record["output"]["results"][0])


@pytest.mark.parametrize("record", parameters(of("createNormalPodPGIfNotExist", "createOrUpdateNormalPodPG")))
def test_ensured(record: Record) -> None:
    pod = argument(record, "pod")
    name = build.name_for(typed(pod, PodView).metadata)
    present = {group["metadata"]["name"]: group for group in existing(record, "podgroups")}.get(name)

    group = build.build(pod, name, owner_annotations(record, pod))

    for write in writes(record, "create", "podgroups"):
        assert pruned(group) == pruned(write["object"])
    for write in writes(record, "update", "podgroups"):
        assert present is not None
        assert pruned(merged(present, build.changes(group, present))) == pruned(write["object"])
    for write in writes(record, "patch", "pods"):
        assert write["patch"] == {"metadata": {"annotations": {keys.GROUP_NAME: name}}}


@pytest.mark.parametrize("record", parameters(of("shouldUpdateExistingPodGroup")))
def test_changes(record: Record) -> None:
    pod, present = argument(record, "pod"), argument(record, "podGroup")
    group = build.build(pod, present["metadata"]["name"], owner_annotations(record, pod))

    change = build.changes(group, present)

    after = (record["output"].get("argsAfter") or {}).get("podGroup") or present
    assert bool(change) == record["output"]["results"][0]
    assert pruned(merged(present, change)) == pruned(after)


@pytest.mark.parametrize("record", parameters(of("getMinMemberFromUpperRes")))
def test_minimum_member(record: Record) -> None:
    assert build.minimum_member(argument(record, "upperAnnotations") or {}) == record["output"]["results"][0]


@pytest.mark.parametrize("record", parameters(of("parseNetworkTopologyFromPod")))
def test_topology(record: Record) -> None:
    annotations = argument(record, "pod")["metadata"].get("annotations") or {}

    assert build.network_topology(annotations) == (record["output"].get("results") or [None])[0]


@pytest.mark.parametrize("record", parameters(of("newPGOwnerReferences")))
def test_owners(record: Record) -> None:
    assert build.owners(argument(record, "pod")) == record["output"]["results"][0]


@pytest.mark.parametrize("record", parameters(of("addPod")))
def test_pod_added(record: Record) -> None:
    """Upstream queues every pod and looks at it later; it must at least be one it would look at."""
    meta = argument(record, "obj")["metadata"]
    (request,) = record["output"]["enqueued"]["queue"]
    assert (request["podNamespace"], request["podName"]) == (meta["namespace"], meta["name"])


@pytest.mark.parametrize(
    "record", parameters(of("addReplicaSet", "updateReplicaSet", "addStatefulSet", "updateStatefulSet"))
)
def test_workload(record: Record) -> None:
    workload = argument(record, "obj", "newObj")
    name = f"{keys.POD_GROUP_PREFIX}{workload['metadata'].get('uid', '')}"
    pods = [typed(pod, PodView) for pod in existing(record, "pods") if belongs(pod, workload)]
    names = record["input"]["controller"]["schedulerNames"]

    speaker = build.representative(pods, name, names)

    if writes(record, "create", "podgroups"):
        assert speaker is not None
    else:
        assert speaker is None or build.name_for(speaker.metadata) in {
            group["metadata"]["name"] for group in existing(record, "podgroups")
        }


@pytest.mark.parametrize("record", parameters(of("processNextReq")))
def test_pod_with_a_group(record: Record) -> None:
    names = record["input"]["controller"]["schedulerNames"]
    pods = [typed(pod, PodView) for pod in existing(record, "pods")]
    assert not any(build.needs_group(pod, names) for pod in pods) or record["output"].get("writes")


def owner_annotations(record: Record, pod: Document) -> Mapping[str, str]:
    if not record["input"]["controller"]["inheritOwnerAnnotations"]:
        return {}
    return build.merged_annotations(
        workload["metadata"].get("annotations") or {}
        for owner in pod["metadata"].get("ownerReferences") or []
        for workload in existing(record, WORKLOADS.get(owner["kind"], ""))
        if workload["metadata"]["name"] == owner["name"]
    )


def belongs(pod: Document, workload: Document) -> bool:
    """Owned by the workload, and of its current revision; upstream's tests leave the owner out."""
    view: Any = typed(pod, PodView)
    owner = controller_of(view.metadata)
    if owner is not None and owner.uid != workload["metadata"].get("uid", ""):
        return False
    labels = pod["metadata"].get("labels") or {}
    selector = workload["spec"]["selector"]["matchLabels"]
    if workload["kind"] == "StatefulSet":
        revision = (workload.get("status") or {}).get("updateRevision", "")
        selector = {**selector, "controller-revision-hash": revision}
    return all(labels.get(key) == value for key, value in selector.items())


@pytest.mark.parametrize("record", parameters(cases("controllers", "util")))
def test_what_a_pod_counts_against_quotas(record: Record) -> None:
    usage = quota.pod_usage(argument(record, "pod")["spec"])

    recorded = record["output"]["results"][0]
    assert {name: str(amount) for name, amount in usage.items()} == recorded
