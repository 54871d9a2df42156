"""Jobs that no patience helps: one member is larger than every node, or their minimum than the whole cluster.

Added to the records of those who ask why a job waits (outcome.py); the SDK judges jobs alike before they have pods.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.resources import PODS, FloatVector, readable
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.shortage import lacking

if TYPE_CHECKING:
    from volcano.scheduler.framework.session import Session

_ABOUT_ROOM: Final = frozenset(
    {
        "ClusterFull",
        "ClusterOverused",
        "NoDomainFits",
        "NotEnoughResources",
        "NotEnqueued",
        "PriorityTooLow",
        "QueueOverused",
        "QueueQuotaExceeded",
        "RestWaits",
    }
)
"""Other reasons are in the way first."""


def with_size(session: Session, job: Job, reason: Reason) -> Reason:
    """`reason`, with the size of the job as its innermost cause where that alone keeps it from ever starting."""
    size = _size(session, job) if reason.code in _ABOUT_ROOM else None
    return reason if size is None else _caused(reason, size)


def _caused(reason: Reason, cause: Reason) -> Reason:
    return replace(reason, cause=cause if reason.cause is None else _caused(reason.cause, cause))


def _size(session: Session, job: Job) -> Reason | None:
    if not len(session.rows):
        return None
    if not job.tasks:
        return _of_minimum(session, job)
    waiting = sorted(job.pending.values(), key=lambda task: task.order)
    seen = {task.profile: task for task in reversed(waiting)}
    return next((found for task in reversed(seen.values()) if (found := _of_member(session, task))), None)


def _of_member(session: Session, task: Task) -> Reason | None:
    """Resources that no node has at all are left out: something else than the node may offer them."""
    sizes = session.nodes.allocatable[session.rows]
    largest = sizes.max(axis=0)
    asked = [dimension for dimension in task.profile.wanted if largest[dimension] > 0]
    if (sizes[:, asked] >= task.profile.request[asked]).all(axis=1).any():
        return None
    names, nodes = session.cluster.dimensions.names, len(session.rows)
    request = task.profile.request
    wanted = {d: readable(names[d], request[d]) for d in asked if d != PODS}
    short = next((d for d in wanted if request[d] > largest[d]), None)
    if short is None:
        listed = ", ".join(f"{names[d]} {text}" for d, text in wanted.items())
        text = f"it can never start: {task.key} asks for {listed}, and none of {nodes} nodes has all of that"
        return Reason(Stage.PREDICATE, "LargerThanAnyNode", blocker=task.key, message=text)
    asks, there = f"{names[short]} {wanted[short]}", readable(names[short], largest[short])
    text = f"it can never start: {task.key} asks for {asks}, and the largest of {nodes} nodes has {there}"
    reason = Reason(Stage.PREDICATE, "LargerThanAnyNode", blocker=task.key, message=text)
    return lacking(session, reason, short, request, largest)


def _of_minimum(session: Session, job: Job) -> Reason | None:
    """A job that has no pods yet: how large each is, nobody has said."""
    minimum: FloatVector = session.cluster.dimensions.from_amounts(job.min_resources or {}).astype(np.float64)
    short = next((int(d) for d in np.flatnonzero(minimum > session.total) if session.total[d] > 0), None)
    if short is None:
        return None
    name, nodes = session.cluster.dimensions.names[short], len(session.rows)
    needed, there = readable(name, minimum[short]), readable(name, session.total[short])
    whole = f"the largest of {nodes} nodes has {there}" if nodes == 1 else f"all {nodes} nodes together have {there}"
    text = f"it can never start: its minimum asks for {name} {needed}, and {whole}"
    return lacking(session, Reason(Stage.PREDICATE, "LargerThanCluster", message=text), short, minimum, session.total)
