"""Whether the cluster would have room, had the queue of a job that waits no limit: a quota is asked before any node.

Added to the records of those who ask why a job waits (outcome.py), as sizes.py adds what can never start.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import PODS, FloatVector, readable
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.reasons import FITS, OF_QUEUES, FitError, Reason, Stage
from volcano.scheduler.framework.shortage import full, lacking

if TYPE_CHECKING:
    from volcano.scheduler.framework.session import Session

_AS_WELL: Final = "the cluster is full, and "


def with_room(session: Session, job: Job, reason: Reason) -> Reason:
    """`reason`; where a queue's limit is in it, and no node has room either, with both."""
    if reason.code in OF_QUEUES:
        lack = _lack(session, job, reason.stage)
        return reason if lack is None else replace(lack, cause=reason)
    if reason.cause is None:
        return reason
    cause = with_room(session, job, reason.cause)
    if cause is reason.cause:
        return reason
    said, more = str(reason.cause), f"{cause}; {reason.cause}"
    if _AS_WELL in reason.message:
        said = f"{_AS_WELL}{said}"
    return replace(reason, cause=cause, message=reason.message.replace(said, more))


def told(session: Session, task: Task, error: FitError) -> str:
    """`error` as conditions and events have it: who is refused by a queue hears of nodes without room in few words."""
    if error.reason is None or error.reason.code not in OF_QUEUES:
        return str(error)
    request = task.profile.request
    is_full = any(request[d] > session.largest_free[d] for d in task.profile.wanted if d != PODS)
    return f"{_AS_WELL}{error}" if is_full else str(error)


def _lack(session: Session, job: Job, stage: Stage) -> Reason | None:
    """What the nodes lack for the job to reach its minimum, or for its next pod; None if they have it."""
    waiting = sorted((task for task in job.pending.values() if not task.gated), key=session.task_order)
    if not waiting:
        return None if job.tasks else _lack_of_minimum(session, job, stage)
    first = waiting[0]
    board = session.board(first.profile)
    board.refresh()
    error = board.fit_error()
    suited = board.codes == FITS
    if not suited.any():  # the pod itself is what keeps it from them
        return replace(error.as_reason(first.key), stage=stage)
    free = session.nodes.future_idle(board.rows[suited]).astype(np.float64)
    needed = _missing(job, waiting)
    short = [dimension for dimension in _short(needed, free.sum(axis=0)) if first.profile.request[dimension] > 0]
    if short:
        return full(session, stage, short, needed, np.maximum(free.sum(axis=0), 0), error.nodes)
    if (board.future_room[suited] > 0).any():
        return None
    return _scattered(session, first.profile, stage, free, error.nodes)


def _lack_of_minimum(session: Session, job: Job, stage: Stage) -> Reason | None:
    """Of a job that has no pods yet."""
    if not len(session.rows):
        return None
    needed = session.cluster.dimensions.from_amounts(job.min_resources or {}).astype(np.float64)
    free = np.maximum(session.nodes.future_idle(session.rows).sum(axis=0, dtype=np.float64), 0)
    short = _short(needed, free)
    return full(session, stage, short, needed, free) if short else None


def _missing(job: Job, waiting: list[Task]) -> FloatVector:
    """What the members ask for that the job lacks to its minimum; one, if it has that."""
    members = waiting[: max(job.min_available - job.ready_count, 1)]
    total: FloatVector = np.sum([task.profile.request for task in members], axis=0).astype(np.float64)
    return total


def _short(needed: FloatVector, free: FloatVector) -> list[int]:
    return [int(dimension) for dimension in np.flatnonzero(needed > np.maximum(free, 0)) if dimension != PODS]


def _scattered(
    session: Session, profile: Profile, stage: Stage, free: FloatVector, nodes: tuple[tuple[str, int], ...]
) -> Reason:
    """There is room enough in sum, and on no single node."""
    names, largest, request = session.cluster.dimensions.names, np.maximum(free.max(axis=0), 0), profile.request
    asked = [d for d in profile.wanted if d != PODS]
    listed = ", ".join(f"{readable(names[d], request[d])} {names[d]}" for d in asked)
    short = next((d for d in asked if request[d] > largest[d]), None)
    if short is None:
        text = f"the cluster is full: no node has all of {listed} free"
        return Reason(stage, "ClusterFull", message=text, nodes=nodes)
    there = readable(names[short], largest[short])
    text = f"the cluster is full: {listed} needed on one node, the most that one has free is {there} {names[short]}"
    return lacking(session, Reason(stage, "ClusterFull", message=text, nodes=nodes), short, request, largest)
