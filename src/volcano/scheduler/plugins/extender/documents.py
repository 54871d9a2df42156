"""The scheduler's objects as extender services know them: Go's exported field names, amounts as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from volcano.scheduler.cluster.resources import CPU, MEMORY, PODS, AnyVector, Dimensions

if TYPE_CHECKING:
    from volcano.scheduler.cluster.jobs import Job
    from volcano.scheduler.cluster.nodes import NodeTable
    from volcano.scheduler.cluster.queues import Queue
    from volcano.scheduler.cluster.tasks import Task

Document = dict[str, Any]


def resource(dimensions: Dimensions, amounts: AnyVector) -> Document:
    scalars = {
        name: float(amounts[d])
        for d, name in enumerate(dimensions.names)
        if d not in (CPU, MEMORY, PODS) and amounts[d]
    }
    return {
        "MilliCPU": float(amounts[CPU]),
        "Memory": float(amounts[MEMORY]),
        "ScalarResources": scalars or None,
        "MaxTaskNum": int(amounts[PODS]),
    }


def task(found: Task, dimensions: Dimensions) -> Document:
    request = resource(dimensions, found.profile.request) | {"MaxTaskNum": 0}
    return {
        "UID": found.uid,
        "Job": found.job.key if found.job is not None else "",
        "Name": found.name,
        "Namespace": found.namespace,
        "TaskRole": found.role,
        "Resreq": request,
        "InitResreq": request,
        "NodeName": found.node_name,
        "Status": 1 << int(found.status),
        "Priority": found.priority,
        "Preemptable": found.preemptable,
        "BestEffort": found.best_effort,
        "RevocableZone": found.revocable_zone,
        "SchGated": found.gated,
        "Pod": msgspec.to_builtins(found.pod),
    }


def node(nodes: NodeTable, row: int) -> Document:
    dimensions = nodes.dimensions
    return {
        "Name": nodes.names[row],
        "Node": msgspec.to_builtins(nodes.objects[row]),
        "Idle": resource(dimensions, nodes.idle[row]),
        "Used": resource(dimensions, nodes.used[row]),
        "Releasing": resource(dimensions, nodes.releasing[row]),
        "Pipelined": resource(dimensions, nodes.pipelined[row]),
        "Allocatable": resource(dimensions, nodes.allocatable[row]),
        "Capacity": resource(dimensions, nodes.reported[row]),
        "Tasks": {found.key: {"UID": uid, "Status": 1 << int(found.status)} for uid, found in nodes.tasks[row].items()},
    }


def job(found: Job, dimensions: Dimensions) -> Document:
    return {
        "UID": found.key,
        "PgUID": found.uid,
        "Name": found.name,
        "Namespace": found.namespace,
        "Queue": found.queue_name,
        "Priority": found.priority,
        "MinAvailable": found.min_available,
        "TaskMinAvailable": found.role_minimums,
        "Allocated": resource(dimensions, found.allocated),
        "TotalRequest": resource(dimensions, found.total_request),
        "Tasks": {uid: task(member, dimensions) for uid, member in found.tasks.items()},
        "PodGroup": msgspec.to_builtins(found.pod_group) if found.pod_group is not None else None,
    }


def queue(found: Queue) -> Document:
    return {
        "UID": found.name,
        "Name": found.name,
        "Weight": found.weight,
        "Queue": msgspec.to_builtins(found.object),
    }


def tasks(found: Iterable[Task], dimensions: Dimensions) -> list[Document]:
    return [task(member, dimensions) for member in found]
