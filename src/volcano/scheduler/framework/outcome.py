"""The conclusions of a session: statuses of PodGroups, verdicts on pods, allocations of queues, reasons of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from volcano.api.scheduling import UNSCHEDULABLE
from volcano.scheduler.cluster.jobs import COMPLETED, INQUEUE, PENDING, RUNNING, UNKNOWN, Job
from volcano.scheduler.cluster.queues import ROOT, Queue
from volcano.scheduler.cluster.resources import Vector
from volcano.scheduler.cluster.shards import Shards
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.decisions import (
    ClusterEvent,
    Condition,
    Decisions,
    PodGroupDecision,
    PodVerdict,
    TaskState,
)
from volcano.scheduler.framework.fullness import with_room
from volcano.scheduler.framework.gates import with_gate
from volcano.scheduler.framework.messages import job_text, pod_verdict
from volcano.scheduler.framework.patience import WAITING, is_due
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.sizes import with_size
from volcano.scheduler.framework.waiting import is_stuck, remainder_reason, waiting_reason

if TYPE_CHECKING:
    from volcano.scheduler.framework.session import Session


def conclude(session: Session) -> Decisions:
    """Fill in the decisions while the session's placements are still visible."""
    decisions = session.decisions
    for job in _jobs_to_report(session):
        with session.isolated(job):
            _report_job(session, job)
    for name, held in _held_by_queues(session).items():
        decisions.queues[name] = session.cluster.dimensions.describe(held)
    if session.options.shares_nodes:
        decisions.shard = session.cluster.index(Shards).use(session.options.sharding_name)
    decisions.reasons.update(_sized(session) if session.options.full_report else session.reasons)
    decisions.reasons.update(_outside(session))
    decisions.events += session.events
    session.cluster.dirty_jobs.clear()
    return decisions


def _sized(session: Session) -> dict[str, Reason]:
    """The reasons, with the nodes' view of those whom a queue refused, and why preempt or patience does not help."""
    jobs, found = session.jobs, dict(session.reasons)
    for key, reason in session.reasons.items():
        if (job := jobs.get(key)) is not None:
            found[key] = with_size(session, job, with_gate(session, job, with_room(session, job, reason)))
    return found


def _outside(session: Session) -> dict[str, Reason]:
    """Jobs that no action looks at, because their queue does not exist."""
    found: dict[str, Reason] = {}
    for key, job in session.cluster.homeless.items():
        text = f"queue {job.queue_name!r} does not exist: create it, or name another queue (spec.queue)"
        found[key] = Reason(Stage.QUEUE, "QueueNotFound", blocker=job.queue_name, message=text)
        session.events.append(ClusterEvent("PodGroup", key, "Warning", "QueueNotFound", text))
    return found


def phase_of(job: Job, *, unschedulable: bool) -> str:
    """The PodGroup's phase: `unschedulable` says that this very session found it so."""
    tally = job.tally
    if tally.counts[Status.RUNNING] and unschedulable:
        return UNKNOWN
    scheduled = tally.scheduled + leaving_with_node(job)
    completed = tally.counts[Status.SUCCEEDED] + tally.counts[Status.FAILED]
    if scheduled >= job.min_available and (scheduled or job.min_available > 0):
        return COMPLETED if scheduled == completed else RUNNING
    if job.phase == INQUEUE or _is_promised_room(job):
        return INQUEUE
    return PENDING


def _is_promised_room(job: Job) -> bool:
    """Others go for it: were it to be admitted again, somebody else might be faster."""
    return bool(job.tally.counts[Status.PIPELINED]) and any(task.promised for task in job.tasks.values())


def leaving_with_node(job: Job) -> int:
    """Members that are terminating on a node."""
    if not job.tally.counts[Status.RELEASING]:
        return 0
    return sum(1 for task in job.tasks.values() if task.status is Status.RELEASING and task.node_name)


def _jobs_to_report(session: Session) -> Iterable[Job]:
    if session.options.full_report:
        return list(session.jobs.values())
    waiting = {job.key for job in session.restless_jobs}
    keys = waiting | session.touched | session.cluster.dirty_jobs | session.conditions.keys()
    return [session.jobs[key] for key in sorted(keys) if key in session.jobs]


def _report_job(session: Session, job: Job) -> None:
    decisions = session.decisions
    conditions = session.conditions.get(job.key) or _not_admitted(session, job)
    others = [condition for condition in conditions if condition.type != UNSCHEDULABLE]
    phase = phase_of(job, unschedulable=len(others) < len(conditions))
    was_pending = job.is_pending
    counts = job.tally.counts
    is_ready = job.is_ready
    job.stood = job.stood or is_ready
    due = is_due(job, session.now, session.options.patience_seconds)
    job.told = decisions.podgroups[job.key] = PodGroupDecision(
        phase,
        running=counts[Status.RUNNING],
        succeeded=counts[Status.SUCCEEDED],
        failed=counts[Status.FAILED],
        conditions=conditions if due else others,
        is_settling=is_ready and job.tally.allocated > counts[Status.RUNNING],
    )
    job.phase = phase
    if session.options.patience_seconds is None:
        _report_tasks(session, job)
    if due:
        _report_pods(session, job.tasks.values())
    elif decisions.evictions and counts[Status.PIPELINED]:  # for whom others are evicted is noted before they are
        _report_pods(session, [task for task in job.tasks.values() if task.evicted])
    if phase in (PENDING, INQUEUE, UNKNOWN) and is_stuck(job):
        if due and job.tasks and not is_ready:
            text = f"{job.tally.pending}/{len(job.tasks)} tasks in gang unschedulable: {job_text(session, job)}"
            decisions.events.append(ClusterEvent("PodGroup", job.key, "Warning", UNSCHEDULABLE, text))
        session.reasons.setdefault(job.key, waiting_reason(session, job, was_pending=was_pending))
    elif is_ready:
        session.reasons.pop(job.key, None)
        if session.options.full_report and (job.pending or job.tally.waiting):
            session.reasons[job.key] = remainder_reason(session, job)


def _report_tasks(session: Session, job: Job) -> None:
    decisions = session.decisions
    for task in job.tasks.values():
        decisions.tasks[task.key] = TaskState(task.status.title, task.node_name, job.key)
        if task.status is Status.PIPELINED:
            decisions.pipelined[task.key] = task.node_name


def _report_pods(session: Session, tasks: Iterable[Task]) -> None:
    """Why each member that waits does."""
    for task in tasks:
        if task.status in WAITING and not task.gated:
            reason, message, nominated = pod_verdict(session, task)
            verdict = PodVerdict(task.uid, task.namespace, task.name, reason, message, nominated)
            session.decisions.pods.append(verdict)


def _not_admitted(session: Session, job: Job) -> list[Condition]:
    """A job that its queue does not admit has no pods to speak for it: its PodGroup says why."""
    reason = session.reasons.get(job.key)
    if reason is None or not job.is_pending or job.tasks:
        return []
    return [Condition(UNSCHEDULABLE, reason.code, str(reason))]


def _held_by_queues(session: Session) -> dict[str, Vector]:
    """What each queue and, in a tree, the queues below it hold."""
    held = {queue.name: queue.allocated for queue in session.queues.values()}
    if ROOT in session.queues:
        for queue in session.queues.values():
            if queue.allocated.any():
                for ancestor in _ancestors(session, queue):
                    held[ancestor] = held[ancestor] + queue.allocated
    return held


def _ancestors(session: Session, queue: Queue) -> Iterator[str]:
    """From the parent upwards, as far as the path leads; once each, should it be a circle."""
    seen = {queue.name}
    name = queue.parent or ROOT
    while name in session.queues and name not in seen:
        yield name
        seen.add(name)
        name = session.queues[name].parent or ROOT
