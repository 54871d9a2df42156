"""Recorded calls on nodes, jobs and sub-jobs, answered by the tables and counters of our cluster.

An adapter takes a recorded call and gives (ours, recorded).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.corpus.loader import Record
from tests.corpus.scheduler_unit_resources import Amounts, Answer, shown, stored, without_zeros
from volcano.api.core import Node, Pod, ResourceQuota
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import PodGroup, PodGroupSpec, SubGroupPolicySpec
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import ADDED, DELETED, Ingest
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.nodes import NodeTable
from volcano.scheduler.cluster.resources import Vector
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework import messages
from volcano.scheduler.framework.reasons import FitError, Refusal, Refusals
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins import reservations
from volcano.scheduler.plugins.deviceshare.gpushare import card_ids
from volcano.scheduler.plugins.usage import estimate
from volcano.testing.world import World

AMOUNTS = {"Idle": "idle", "Used": "used", "Releasing": "releasing", "Pipelined": "pipelined"}
UNRESOLVABLE = 3


def task_of(cluster: Cluster, recorded: Record) -> Task:
    pod = msgspec.convert(recorded.get("Pod") or {"metadata": {"name": recorded.get("UID", "")}}, Pod)
    task = Task(pod, cluster.profiles.intern(pod))
    if recorded.get("UID"):
        task.uid = recorded["UID"]
    context = recorded.get("TransactionContext") or {}
    task.status = Status[context.get("Status", "Pending").upper()]
    task.node_name = context.get("NodeName", "")
    return task


def _vector(cluster: Cluster, recorded: Amounts) -> Vector:
    amounts = stored(recorded, cluster.dimensions)
    return cluster.dimensions.from_amounts(amounts)


# Nodes


def _node(recorded: Record) -> Cluster:
    cluster = Cluster()
    _put(cluster, recorded["Name"], recorded["Allocatable"])
    for task in (recorded.get("Tasks") or {}).values():
        cluster.add_task(task_of(cluster, task), "")
    return cluster


def _put(cluster: Cluster, name: str, allocatable: Amounts) -> None:
    offered = _vector(cluster, allocatable)
    cluster.nodes.put(Node(metadata=ObjectMeta(name=name)), offered, offered)


def _books(cluster: Cluster) -> Record:
    nodes: NodeTable = cluster.nodes
    (row,) = nodes.row_of.values()
    books = {shown_as: shown(getattr(nodes, name)[row], cluster.dimensions) for shown_as, name in AMOUNTS.items()}
    return {**books, "Tasks": sorted(task.key for task in nodes.tasks[row].values())}


def _recorded_books(recorded: Record) -> Record:
    books: Record = {name: without_zeros(recorded[name]) for name in AMOUNTS}
    return {**books, "Tasks": sorted(recorded.get("Tasks") or ())}


def _node_add(call: Record) -> Answer:
    if call.get("want") is not None:
        pytest.skip("a pod that is on a node is counted there, whether it fits or not")
    if not without_zeros(call["args"]["receiver"]["Allocatable"]):
        pytest.skip("a node that offers nothing, but has something idle, was made by hand")
    cluster = _node(call["args"]["receiver"])
    task = task_of(cluster, call["args"]["task"])
    task.node_name = call["args"]["receiver"]["Name"]
    cluster.add_task(task, "")
    return _books(cluster), _recorded_books(call["argsAfter"]["receiver"])


def _node_remove(call: Record) -> Answer:
    cluster = _node(call["args"]["receiver"])
    recorded = call["args"].get("ti") or call["args"]["task"]
    cluster.remove_task(cluster.tasks[recorded["UID"]])
    return _books(cluster), _recorded_books(call["argsAfter"]["receiver"])


def _node_set(call: Record) -> Answer:
    cluster = _node(call["args"]["receiver"])
    name = call["args"]["receiver"]["Name"]
    node = msgspec.convert(call["args"]["node"], Node)
    offered = cluster.dimensions.vector(node.status.allocatable)
    cluster.nodes.put(node, offered, offered)
    assert name in cluster.nodes.row_of
    return _books(cluster), _recorded_books(call["argsAfter"]["receiver"])


# Jobs


def _group(recorded: Record | None, minimum: int = 0) -> PodGroup:
    source = recorded or {"metadata": {}, "spec": {"minMember": minimum}}
    document = {key: source[key] for key in ("metadata", "spec", "status") if key in source}
    group = msgspec.convert(document, PodGroup)
    group.metadata.name = group.metadata.name or "job"
    group.metadata.namespace = group.metadata.namespace or "ns"
    return group


def _job(cluster: Cluster, recorded: Record) -> Job:
    job = cluster.put_pod_group(_group(recorded.get("PodGroup"), recorded.get("MinAvailable", 0)))
    for task in (recorded.get("Tasks") or {}).values():
        cluster.add_task(task_of(cluster, task), job.key)
    return job


def _counts(cluster: Cluster, job: Job) -> Record:
    return {
        "Allocated": shown(job.allocated, cluster.dimensions),
        "TotalRequest": shown(job.total_request, cluster.dimensions),
        "Tasks": {task.uid: task.status.title for task in job.tasks.values()},
    }


def _recorded_counts(recorded: Record) -> Record:
    tasks = (recorded.get("Tasks") or {}).items()
    return {
        "Allocated": without_zeros(recorded["Allocated"]),
        "TotalRequest": without_zeros(recorded["TotalRequest"]),
        "Tasks": {uid: task["TransactionContext"]["Status"] for uid, task in tasks},
    }


def _job_add(call: Record) -> Answer:
    cluster = Cluster()
    job = _job(cluster, call["args"]["receiver"])
    cluster.add_task(task_of(cluster, call["args"]["ti"]), job.key)
    return _counts(cluster, job), _recorded_counts(call["argsAfter"]["receiver"])


def _job_delete(call: Record) -> Answer:
    cluster = Cluster()
    job = _job(cluster, call["args"]["receiver"])
    cluster.remove_task(cluster.tasks[call["args"]["ti"]["UID"]])
    return _counts(cluster, job), _recorded_counts(call["argsAfter"]["receiver"])


def _job_status(call: Record) -> Answer:
    cluster = Cluster()
    job = _job(cluster, call["args"]["receiver"])
    cluster.change_status(cluster.tasks[call["args"]["task"]["UID"]], Status[call["args"]["status"].upper()])
    return _counts(cluster, job), _recorded_counts(call["argsAfter"]["receiver"])


def _job_set_group(call: Record) -> Answer:
    cluster = Cluster()
    job = cluster.put_pod_group(_group(call["args"]["pg"]))
    recorded = call["argsAfter"]["receiver"]
    policies = {f"{recorded['UID']}/{policy.name}": policy.min_sub_groups or 0 for policy in job.policies}
    got = (job.min_available, job.role_minimums, policies)
    return got, (
        recorded.get("MinAvailable", 0),
        recorded.get("TaskMinAvailable") or {},
        recorded.get("MinSubJobs") or {},
    )


def _job_minimums(call: Record) -> Answer:
    """What was there before is replaced, not merged."""
    cluster = Cluster()
    before = call["args"]["receiver"]
    spec = PodGroupSpec(min_task_member=before.get("TaskMinAvailable") or {})
    cluster.put_pod_group(PodGroup(metadata=ObjectMeta(name="job", namespace="ns"), spec=spec))
    job = cluster.put_pod_group(_group(call["args"]["pg"]))
    recorded = (call.get("argsAfter") or call["args"])["receiver"]
    got = (job.role_minimums, sum(job.role_minimums.values()))
    return got, (recorded.get("TaskMinAvailable") or {}, recorded.get("TaskMinAvailableTotal", 0))


def _elastic(call: Record) -> Answer:
    world = World()
    for name in ("nvidia.com/gpu",):
        world.cluster.dimensions.intern(name)
    job = _job(world.cluster, call["args"]["receiver"])
    elastic = reservations._part(world.cluster.dimensions, job).elastic
    found = world.cluster.dimensions.zeros() if elastic is None else elastic
    return shown(found, world.cluster.dimensions), without_zeros(call["want"])


def _has_topology(call: Record) -> Answer:
    return _job(Cluster(), call["args"]["receiver"]).has_topology, call["want"]


# Sub-jobs


def _joined(policy: Record, values: list[str], job_name: str = "job") -> Job:
    cluster = Cluster()
    keys = [f"key-{number}" for number in range(len(values))]
    document: Record = {"name": policy.get("Name", ""), "matchLabelKeys": keys}
    if policy.get("SubGroupSize") is not None:
        document["subGroupSize"] = policy["SubGroupSize"]
    spec = PodGroupSpec(sub_group_policy=[msgspec.convert(document, SubGroupPolicySpec)])
    job = cluster.put_pod_group(PodGroup(metadata=ObjectMeta(name=job_name, namespace="ns"), spec=spec))
    pod = Pod(metadata=ObjectMeta(name="p", namespace="ns", labels=dict(zip(keys, values, strict=True))))
    cluster.add_task(Task(pod, cluster.profiles.intern(pod)), job.key)
    return job


def _new_sub_job(call: Record) -> Answer:
    args = call["args"]
    if args["policy"] is None or not args["matchValues"]:
        pytest.skip("sub-jobs come from a policy and from the values of its label keys")
    (sub_job,) = _joined(args["policy"], args["matchValues"]).sub_jobs.values()
    want = call["want"]
    return (sub_job.min_available, sub_job.match_index), (want["MinAvailable"], want.get("MatchIndex", 0))


def _sub_job_key(call: Record) -> Answer:
    args = call["args"]
    (key,) = _joined({"Name": args["policy"]}, args["matchValues"], args["job"]).sub_jobs
    return key, f"ns/{call['want']}"


# What is said about jobs and pods


def _reported(recorded: Record) -> tuple[Session, Job]:
    """A job as the actions leave it: statements that were undone are remembered by their tasks."""
    world = World()
    job = _job(world.cluster, {**recorded, "Tasks": {}})
    for entry in recorded["Tasks"].values():
        task = task_of(world.cluster, entry)
        if task.status is Status.PENDING and task.node_name:  # all that the record keeps of what was undone
            task.trial = (Status.ALLOCATED, task.node_name)
        world.cluster.add_task(task, job.key)
    session = world.session()
    for uid, error in recorded["NodesFitErrors"].items():
        texts: dict[str, int] = {}
        for node in error["nodes"].values():
            for status in node["Status"]:
                texts[status["Reason"]] = texts.get(status["Reason"], 0) + 1
        session.fit_errors[uid] = FitError(tuple((Refusal("", text), count) for text, count in texts.items()))
    return session, job


def _job_text(call: Record) -> Answer:
    session, job = _reported(call["args"]["receiver"])
    return messages.job_text(session, job), call["want"]


def _verdict(call: Record) -> Answer:
    session, job = _reported(call["args"]["receiver"])
    session.job_messages[job.key] = call["args"]["receiver"].get("JobFitErrors", "")
    task = job.tasks[call["args"]["tid"]]
    return list(messages.pod_verdict(session, task)), call["want"]


def _unresolvable(call: Record) -> Answer:
    refusals = Refusals()
    nodes = call["args"]["receiver"]["nodes"]
    worst = {name: any(status["Code"] == UNRESOLVABLE for status in node["Status"]) for name, node in nodes.items()}
    codes = np.array([refusals.code(Refusal("", name, resolvable=not bad)) for name, bad in worst.items()], np.int32)
    found = refusals.unresolvable(codes)
    return sorted(name for name, bad in zip(worst, found, strict=True) if bad), sorted(call["want"])


# Pods and quotas


def _limit(call: Record) -> Answer:
    cpu, memory = estimate.pod_limits(msgspec.convert(call["args"]["pod"], Pod))
    return without_zeros({"cpu": cpu, "memory": memory}), without_zeros(call["want"])


def _card_ids(call: Record) -> Answer:
    pod = msgspec.convert(call["args"]["pod"], Pod)
    return list(card_ids(pod.metadata.annotations.get("volcano.sh/gpu-index", ""))), call["want"] or []


def _quotas(event: str) -> Callable[[Record], Answer]:
    def call_with(call: Record) -> Answer:
        cluster = Cluster()
        ingest = Ingest(cluster)
        before = call["args"]["receiver"]
        for name, status in before["QuotaStatus"].items():
            ingest.apply(ADDED, "resourcequotas", _quota({"metadata": {"name": name}, "status": status}))
        if event:
            ingest.apply(event, "resourcequotas", _quota(call["args"]["quota"]))
        held = {
            one.metadata.name: msgspec.to_builtins(one.status) for one in cluster.objects["resourcequotas"].values()
        }
        after = call["want"] if not event else (call.get("argsAfter") or call["args"])["receiver"]
        return held, after["QuotaStatus"]

    return call_with


def _quota(document: Record) -> ResourceQuota:
    quota = msgspec.convert(document, ResourceQuota)
    quota.metadata.namespace = "ns"
    return quota


ADAPTERS: dict[str, Callable[[Record], Any]] = {
    "NodeInfo.AddTask": _node_add,
    "NodeInfo.RemoveTask": _node_remove,
    "NodeInfo.SetNode": _node_set,
    "JobInfo.AddTaskInfo": _job_add,
    "JobInfo.DeleteTaskInfo": _job_delete,
    "JobInfo.UpdateTaskStatus": _job_status,
    "JobInfo.SetPodGroup": _job_set_group,
    "JobInfo.ParseMinMemberInfo": _job_minimums,
    "JobInfo.GetElasticResources": _elastic,
    "JobInfo.ContainsHardTopology": _has_topology,
    "JobInfo.FitError": _job_text,
    "JobInfo.TaskSchedulingReason": _verdict,
    "NewSubJobInfo": _new_sub_job,
    "getSubJobID": _sub_job_key,
    "FitErrors.GetUnschedulableAndUnresolvableNodes": _unresolvable,
    "GetPodResourceLimit": _limit,
    "GetGPUIndex": _card_ids,
    "NamespaceCollection.Update": _quotas(ADDED),
    "NamespaceCollection.Delete": _quotas(DELETED),
    "NamespaceCollection.Snapshot": _quotas(""),
}
