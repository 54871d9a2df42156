"""Jobs that no patience helps: one member is larger than every node, or their minimum than the whole cluster.

Added to the records of those who ask why a job waits (outcome.py); the SDK judges jobs alike before they have pods.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.resources import PODS, AnyVector, FloatVector, readable
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
_INSUFFICIENT: Final = "Insufficient "
_OF_CLUSTER: Final = frozenset({"ClusterFull", "ClusterOverused"})


def with_size(session: Session, job: Job, reason: Reason) -> Reason:
    """`reason`, with the size of the job as its innermost cause where that alone keeps it from ever starting."""
    size = _size(session, job, _refused(reason)) if reason.code in _ABOUT_ROOM else None
    return reason if size is None else _caused(reason, size)


def _caused(reason: Reason, cause: Reason) -> Reason:
    return replace(reason, cause=cause if reason.cause is None else _caused(reason.cause, cause))


def _refused(reason: Reason) -> frozenset[str]:
    """Resources for which the cluster or nodes are said to have no room: nothing else than nodes offers these."""
    names = {text.removeprefix(_INSUFFICIENT) for text, _ in reason.nodes if text.startswith(_INSUFFICIENT)}
    if reason.code in _OF_CLUSTER:
        names.add(reason.resource)
    return frozenset(names if reason.cause is None else names | _refused(reason.cause))


def _size(session: Session, job: Job, refused: frozenset[str]) -> Reason | None:
    if not len(session.rows):
        return None
    if not job.tasks:
        return _of_minimum(session, job, refused)
    waiting = sorted(job.pending.values(), key=lambda task: task.order)
    seen = {task.profile: task for task in reversed(waiting)}
    sizes = (_of_member(session, task, refused) for task in reversed(seen.values()))
    return next((found for found in sizes if found), None) or _of_members(session, job, refused)


def _of_member(session: Session, task: Task, refused: frozenset[str]) -> Reason | None:
    """Resources that no node has at all are left out unless they are `refused`: something else may offer them."""
    sizes = session.nodes.allocatable[session.rows]
    largest = sizes.max(axis=0)
    names, nodes = session.cluster.dimensions.names, len(session.rows)
    asked = [d for d in task.profile.wanted if largest[d] > 0 or names[d] in refused]
    if (sizes[:, asked] >= task.profile.request[asked]).all(axis=1).any():
        return None
    request = task.profile.request
    wanted = {d: readable(names[d], request[d]) for d in asked if d != PODS}
    short = next((d for d in wanted if request[d] > largest[d]), None)
    if short is None:
        listed = ", ".join(f"{names[d]} {text}" for d, text in wanted.items())
        text = f"it can never start: {task.key} asks for {listed}, and none of {nodes} nodes has all of that"
        return Reason(Stage.PREDICATE, "LargerThanAnyNode", blocker=task.key, message=text)
    asks = f"{names[short]} {wanted[short]}"
    text = f"it can never start: {task.key} asks for {asks}, and {_largest(session, short, largest)}"
    reason = Reason(Stage.PREDICATE, "LargerThanAnyNode", blocker=task.key, message=text)
    return lacking(session, reason, short, request, largest)


def _of_members(session: Session, job: Job, refused: frozenset[str]) -> Reason | None:
    """Each of them may have a node; here they are taken together. None of them runs yet, or has."""
    if job.tally.ready:
        return None
    if len(job.tasks) < job.min_available:
        return _of_minimum(session, job, refused) if job.is_pending else None
    if (job.total_request <= session.total).all():
        return None
    requests = np.array([task.profile.request for task in job.tasks.values()], dtype=np.float64)
    return _together(session, np.sort(requests, axis=0)[: job.min_available].sum(axis=0), refused)


def _of_minimum(session: Session, job: Job, refused: frozenset[str]) -> Reason | None:
    """A job that lacks pods yet: how large each is, nobody has said."""
    minimum = session.cluster.dimensions.from_amounts(job.min_resources or {})
    return _together(session, minimum.astype(np.float64), refused)


def _together(session: Session, minimum: FloatVector, refused: frozenset[str]) -> Reason | None:
    names, total = session.cluster.dimensions.names, session.total
    beyond = (int(d) for d in np.flatnonzero(minimum > total) if d != PODS)
    short = next((d for d in beyond if total[d] > 0 or names[d] in refused), None)
    if short is None:
        return None
    name, nodes = names[short], len(session.rows)
    needed, there = readable(name, minimum[short]), readable(name, total[short])
    some = nodes > 1 and total[short] > 0
    whole = f"all {nodes} nodes together have {there}" if some else _largest(session, short, total)
    text = f"it can never start: its minimum asks for {name} {needed}, and {whole}"
    return lacking(session, Reason(Stage.PREDICATE, "LargerThanCluster", message=text), short, minimum, session.total)


def _largest(session: Session, dimension: int, largest: AnyVector) -> str:
    nodes = len(session.rows)
    if largest[dimension] <= 0:
        return f"none of {nodes} nodes has any"
    return (
        f"the largest of {nodes} nodes has {readable(session.cluster.dimensions.names[dimension], largest[dimension])}"
    )
