"""Recorded calls of session functions, answered by the hooks they correspond to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from volcano.api import keys
from volcano.api.core import Pod
from volcano.api.scheduling import PodGroup
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.plugin import EvictionContext
from volcano.scheduler.framework.reasons import FITS
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.victims import in_victim_order

Call = dict[str, Any]

KINDS = {1: "gangpreempt", 2: "gangreclaim"}
SCORE_TOLERANCE = 1e-6
ROUNDED_TOLERANCE = 0.1


def task_named(session: Session, candidate: str | dict[str, Any]) -> Task:
    """A task by key, or one that is in no session, made from its pod."""
    if isinstance(candidate, str):
        return next(task for task in session.cluster.tasks.values() if task.key == candidate)
    pod = msgspec.convert(candidate.get("pod", {}), Pod)
    task = Task(pod, session.cluster.profiles.intern(pod))
    task.job = session.cluster.jobs.get(candidate.get("job", ""))
    return task


def scores(session: Session, call: Call, nodes: list[str]) -> dict[str, float]:
    task = task_named(session, call["task"])
    board = session.board(task.profile)
    positions = session.positions_of(np.array([session.nodes.row_of[name] for name in nodes], dtype=np.intp))
    competing = np.zeros(len(board.rows), dtype=np.bool_)
    competing[positions] = True
    total = board.scores(competing).copy()
    if task.sub_job is not None and task.job is not None and task.job.pod_group is not None:
        home = task.job.pod_group.metadata.annotations.get(keys.JOB_ALLOCATED_HYPERNODE, "")
        task.sub_job.allocated_hypernode = home  # as the recorded test sets it
        bonus = session.domain_scores(task, board.rows[positions])
        if bonus is not None:
            total[positions] += bonus
    return {name: float(total[position]) for name, position in zip(nodes, positions, strict=True)}


def node_order(session: Session, call: Call) -> tuple[Any, Any]:
    return scores(session, call, [call["node"]])[call["node"]], call["result"]


def batch_node_order(session: Session, call: Call) -> tuple[Any, Any]:
    got = scores(session, call, call["nodes"])
    want = {name: call["result"].get(name, 0.0) for name in got}
    return got, want


def prioritize_nodes(session: Session, call: Call) -> tuple[Any, Any]:
    return scores(session, call, list(call["result"])), call["result"]


def predicate(session: Session, call: Call) -> tuple[Any, Any]:
    task = task_named(session, call["task"])
    board = session.board(task.profile)
    board.refresh()
    position = session.positions_of(np.array([session.nodes.row_of[call["node"]]]))[0]
    return int(board.codes[position]) == FITS, call["fits"]


def job_enqueueable(session: Session, call: Call) -> tuple[Any, Any]:
    return session.hooks.vote("job_enqueueable", job_named(session, call["job"]))[0], call["result"]


def job_named(session: Session, named: str | dict[str, Any]) -> Job:
    """A job by key, or one that is in no session, made from what the record says of it."""
    if isinstance(named, str):
        return session.jobs[named]
    info = named["jobInfo"]
    metadata = {"namespace": info["Namespace"], "name": info["Name"], "annotations": {}}
    if "WaitingTime" in info:
        metadata["annotations"][keys.SLA_WAITING_TIME] = info["WaitingTime"]
    job = Job(f"{info['Namespace']}/{info['Name']}/{info.get('WaitingTime', '')}", session.cluster.dimensions)
    job.pod_group = msgspec.convert({"metadata": metadata}, PodGroup)
    return job


def job_order(session: Session, call: Call) -> tuple[Any, Any]:
    left, right = (session.hooks.order("job_order", job_named(session, call[side])) for side in ("left", "right"))
    return left < right, call["result"]


def hypernode_order(session: Session, call: Call) -> tuple[Any, Any]:
    sub_job = next(one for one in session.jobs[call["job"]].sub_jobs.values() if one.key == call["subJob"])
    rows = {
        name: np.array([session.nodes.row_of[node] for node in nodes], dtype=np.intp)
        for name, nodes in call["hyperNodes"].items()
    }
    (want,) = call["result"].values()
    return session.hypernode_scores(sub_job, rows), want


def job_enqueued(session: Session, call: Call) -> tuple[Any, Any]:
    session.hooks.notify("job_enqueued", session.jobs[call["job"]])
    return None, None


def job_order_compare(session: Session, call: Call) -> tuple[Any, Any]:
    left, right = (session.hooks.order("job_order", session.jobs[call[side]]) for side in ("left", "right"))
    return (left > right) - (left < right), call["result"]


def victims_queue(session: Session, call: Call) -> tuple[Any, Any]:
    candidates = [task_named(session, key) for key in call["candidates"]]
    ordered = in_victim_order(session, task_named(session, call["preemptor"]), candidates)
    return [task.key for task in ordered], call["result"]


def preemptable(session: Session, call: Call) -> tuple[Any, Any]:
    candidates = [task_named(session, key) for key in call["candidates"]]
    claimant = candidates[0] if call.get("preemptor") is None else task_named(session, call["preemptor"])
    got = session.hooks.victims("preemptable", claimant, candidates)
    return [task.key for task in got], call["result"]


def unified_evictable(session: Session, call: Call) -> tuple[Any, Any]:
    candidates = [task_named(session, key) for key in call["candidates"]]
    recorded = call["context"]
    job = session.jobs.get(recorded["job"]) or Job(recorded["job"], session.cluster.dimensions)
    job.priority = recorded.get("jobPriority", job.priority)
    context = EvictionContext(KINDS.get(recorded["kind"], ""), job, recorded["hyperNode"])
    return [task.key for task in session.hooks.victims("evictable", context, candidates)], call["result"]


def victim_tasks(session: Session, call: Call) -> tuple[Any, Any]:
    candidates = [task_named(session, key) for key in call["candidates"]]
    return len(session.hooks.union("victim_tasks", candidates)), call["resultCount"]


def allocate(session: Session, call: Call) -> tuple[Any, Any]:
    refused = session.statement().allocate([task_named(session, call["task"])], [session.nodes.row_of[call["node"]]])
    return refused is None, call["error"] is None


ADAPTERS: dict[str, Callable[[Session, Call], tuple[Any, Any]]] = {
    "Allocate": allocate,
    "BatchNodeOrderFn": batch_node_order,
    "BuildVictimsPriorityQueue": victims_queue,
    "HyperNodeOrderMapFn": hypernode_order,
    "JobEnqueueable": job_enqueueable,
    "JobEnqueued": job_enqueued,
    "JobOrderCompareFn": job_order_compare,
    "JobOrderFn": job_order,
    "NodeOrderFn": node_order,
    "PredicateFn": predicate,
    "Preemptable": preemptable,
    "PrioritizeNodes": prioritize_nodes,
    "UnifiedEvictable": unified_evictable,
    "VictimTasks": victim_tasks,
}
