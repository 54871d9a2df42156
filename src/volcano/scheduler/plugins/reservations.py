"""What admitted jobs will still claim: arithmetic that the plugins which admit jobs share.

A job claims what of its `minResources` it does not hold yet, from its admission until it has them.
"""

from __future__ import annotations

import numpy as np

from volcano.scheduler.cluster.jobs import INQUEUE, RUNNING, Job
from volcano.scheduler.cluster.resources import AnyVector, Vector, render
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.session import Session


def minimum(session: Session, job: Job) -> Vector:
    """`spec.minResources`, zero where the PodGroup does not say."""
    return session.cluster.dimensions.from_amounts(job.min_resources or {})


def claim(session: Session, job: Job) -> Vector | None:
    """What the job, once admitted, will still take beyond what it holds; None if nothing is reserved for it."""
    if job.min_resources is None:
        return None
    if job.phase == INQUEUE or (job.phase == RUNNING and job.tally.allocated >= job.min_available):
        return without_gated(job, np.maximum(minimum(session, job) - job.allocated, 0))
    return None


def overdrawn(session: Session, short: list[int], used: AnyVector, limit: AnyVector) -> str:
    """`3 cpu needed, 2400m available`, for each resource that is short."""
    names = session.cluster.dimensions.names
    return ", ".join(
        f"{render(names[d], int(used[d]))} {names[d]} needed, {render(names[d], max(int(limit[d]), 0))} available"
        for d in short
    )


def quota_reason(session: Session, queue: str, short: list[int], used: AnyVector, limit: AnyVector) -> Reason:
    """The record of a queue that may not take one more task: which resource, how much it would be, how much it may."""
    text = f"queue {queue!r} may not take more: {overdrawn(session, short, used, limit)}"
    need, have = float(used[short[0]]), float(limit[short[0]])
    return Reason(Stage.QUEUE, "QueueQuotaExceeded", need, have, blocker=queue, message=text)


def without_gated(job: Job, amount: Vector) -> Vector:
    """`amount` less what gated pods ask for; pods that only wait for their queue are not gated in this sense."""
    if not any(task.gates for task in job.pending.values()):
        return amount
    gated = [task.profile.request for task in job.pending.values() if task.gates and not task.waits_for_queue_only]
    return np.maximum(amount - sum(gated), 0) if gated else amount
