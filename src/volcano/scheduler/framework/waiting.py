"""The record of a job that waits, where none of those who refused it has said anything more precise.

outcome.py asks for it when the actions are done; reasons.py has the record, remedies.py what would change it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.messages import job_text
from volcano.scheduler.framework.reasons import Reason, Stage

if TYPE_CHECKING:
    from volcano.scheduler.framework.session import Session

_NAMED: Final = 3
"""So many names are told; the others are counted."""


def is_stuck(job: Job) -> bool:
    """Whether nothing happens for it, be it that its members seem to be enough: some count although they have no node,

    and some hold room that is of no use before others have theirs.
    """
    return not job.is_ready or (bool(job.pending or job.tally.waiting) and not job.tally.counts[Status.BINDING])


def waiting_reason(session: Session, job: Job, *, was_pending: bool = False) -> Reason:
    """`was_pending`: it had not been admitted. One that lost its pods becomes pending only with this cycle."""
    if was_pending:
        return Reason(Stage.ENQUEUE, "NotEnqueued", message="the job has not been admitted to its queue yet")
    if not job.tasks:
        text = f"none of its pods exists, {job.min_available} are needed at least"
        return Reason(Stage.GANG, "NotEnoughTasks", need=job.min_available, have=0, message=text)
    waiting = [task for task in job.tasks.values() if task.status is Status.PIPELINED]
    if waiting and job.is_pipelined:
        return _promised(job, waiting)
    gated = [task for task in job.pending.values() if task.gated]
    if gated and len(gated) == len(job.pending):
        names = _listed(gate for task in gated for gate in task.gates)
        text = f"{len(gated)} of its pods wait for their scheduling gates to be removed: {names}"
        return _of_gang(job, "SchedulingGated", gated[0].key, text)
    failing = [task for task in job.pending.values() if task.uid in session.fit_errors]
    return _refused(session, job, failing) if failing else _not_refused(session, job)


def remainder_reason(session: Session, job: Job) -> Reason:
    """Of a job that has its minimum, and members beyond it that have no node."""
    waiting = len(job.pending) + job.tally.waiting
    members = job.tally.valid
    text = f"it runs with its minimum of {job.min_available}; {waiting} of its {members} pods wait for a node"
    inner = waiting_reason(session, job)
    if inner.code in _ABOUT_THE_MINIMUM:
        inner = inner.cause or replace(inner, need=None, have=None)
    return Reason(Stage.GANG, "RestWaits", need=members, have=members - waiting, message=text, cause=inner)


_ABOUT_THE_MINIMUM: Final = ("NotEnoughResources", "NoDomainFits")
"""Their numbers are those of the minimum, which is there; their cause says why a member has no node."""


def _promised(job: Job, waiting: list[Task]) -> Reason:
    nodes = sorted({task.node_name for task in waiting})
    text = (
        f"{len(waiting)} of its pods have room promised on {_listed(nodes)}: "
        "they start there once the pods that leave these nodes have gone"
    )
    return _of_gang(job, "WaitingForRoom", nodes[0], text)


def _refused(session: Session, job: Job, failing: list[Task]) -> Reason:
    """By the first of its members that was looked at: others may only say that one like them failed before."""
    errors = session.fit_errors
    origin = min(failing, key=lambda task: (errors[task.uid].says_nothing, task.order))
    error = errors[origin.uid]
    cause, obstacle = error.as_reason(origin.key), session.obstacles.get(job.key)
    limited = session.topology.limit(job) is not None
    return Reason(
        Stage.TOPOLOGY if limited else Stage.GANG,
        "NoDomainFits" if limited else "NotEnoughResources",
        need=job.min_available,
        have=_reached(job),
        message=job_text(session, job),
        nodes=error.nodes,
        cause=replace(cause, cause=obstacle),
    )


def _not_refused(session: Session, job: Job) -> Reason:
    """No node was looked at for it."""
    limit = session.topology.limit(job)
    if limit is not None:
        text = f"no domain up to tier {limit.tier} has room for it: {job_text(session, job)}"
        return Reason(Stage.TOPOLOGY, "NoDomainFits", need=job.min_available, have=_reached(job), message=text)
    obstacle = session.obstacles.get(job.key)
    if job.queue is not None and session.overused(job.queue):
        text = f"queue {job.queue_name!r} uses all that it deserves: other queues come first"
        return Reason(Stage.QUEUE, "QueueOverused", blocker=job.queue_name, message=text, cause=obstacle)
    if job.is_ready and job.tally.best_effort_pending:
        text = f"{len(job.pending)} pods that ask for nothing were not placed: {job_text(session, job)}"
        return _of_gang(job, "NotTried", "", text)
    return replace(_of_gang(job, "NotEnoughResources", "", job_text(session, job)), have=_reached(job), cause=obstacle)


def _of_gang(job: Job, code: str, blocker: str, text: str) -> Reason:
    have = job.ready_count - job.tally.best_effort_pending
    return Reason(Stage.GANG, code, need=job.min_available, have=have, blocker=blocker, message=text)


def _reached(job: Job) -> int:
    """How many members have room, or had it until their gang failed."""
    nearly = sum(1 for task in job.pending.values() if task.trial and task.trial[0] in _NEARLY_PLACED)
    return job.ready_count + job.tally.waiting + nearly


_NEARLY_PLACED: Final = (Status.ALLOCATED, Status.PIPELINED)


def _listed(names: Iterable[str]) -> str:
    found = sorted(set(names))
    others = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + others
