"""Bringing the pods of a job to what its specification says, and its status to what its pods say.

Pure. The operation behind SyncJob in every phase that wants pods.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from volcano.api import keys
from volcano.controllers.job import after, counts, dependencies, podgroup as podgroups, volumes
from volcano.controllers.job.members import TERMINATING
from volcano.controllers.job.outcomes import Outcome, cause
from volcano.controllers.job.plan import Attachment, Plan, Replica
from volcano.controllers.job.plugins.interface import marker
from volcano.controllers.job.pods import is_replica, pod_name, task_name
from volcano.controllers.job.vocabulary import FINAL, Phase, PodPhase
from volcano.controllers.notes import Note

if TYPE_CHECKING:
    from volcano.api.batch import Job, JobStatus, TaskSpec
    from volcano.api.scheduling import PodGroup
    from volcano.controllers.job.facts import Facts
    from volcano.controllers.job.members import Member, Members


MOST_AT_ONCE: Final = 5000
"""pods created in one step; other jobs get their turn before the rest"""


class QueueUnfit(LookupError):
    """The job's queue is not as it must be (yet): tried again later. `reason` is a word for the job's status."""

    reason = ""


class QueueMissing(QueueUnfit):
    """There is none."""

    reason = after.QUEUE_MISSING


class QueueClosed(QueueUnfit):
    """It takes no new groups."""

    reason = after.QUEUE_CLOSED


def sync_job(
    job: Job,
    members: Members,
    podgroup: PodGroup | None,
    now: datetime.datetime,
    facts: Facts,
    *,
    outcome: Outcome,
) -> Plan:
    if not facts.queue_exists:
        raise QueueMissing(f"queue '{job.spec.queue}' of job {job.metadata.key} does not exist: create it first")
    if facts.hold is not None and podgroup is None:
        return _held(job, facts.hold, now)
    plan = Plan()
    if facts.forwards and job.metadata.annotations.get(keys.JOB_FORWARDING) != "true":
        plan.annotate = {keys.JOB_FORWARDING: "true"}
    status = _prepare(job, plan, now, facts)
    restarting = job.status.state.phase == Phase.RESTARTING
    if podgroup is not None and restarting and podgroups.is_outdated(podgroup, job, members):
        plan.podgroup_delete = podgroup.metadata.name  # the kill was interrupted before it got there
    else:
        _keep_podgroup(job, podgroup, plan, facts)
    tally = counts.Tally(members)
    is_let_in = podgroups.is_admitted(podgroup) or plan.is_on_credit
    plan.waits_for_podgroup = bool(plan.podgroup_delete) or not is_let_in
    _keep_pods(job, members, plan, tally)
    _conclude(job, plan, tally, status, outcome, now)
    return plan


def _held(job: Job, why: after.Hold, now: datetime.datetime) -> Plan:
    """Nothing is made yet; the user is told why."""
    plan = Plan(notes=[Note("Normal", why.reason, f"The job does not start yet: {why.message}")])
    status = after.held(job, why, now)
    plan.status = status if status != job.status else None
    return plan


def _prepare(job: Job, plan: Plan, now: datetime.datetime, facts: Facts) -> JobStatus:
    """Plugins' objects and volumes; returns the status with their markers."""
    status = after.freed(job.status)
    starting = status.state.phase in {"", Phase.PENDING}
    if not status.state.phase:
        status = counts.entered(status, Phase.PENDING, now)
    markers = dict(status.controlled_resources)
    attach: list[Attachment] = []
    for plugin in facts.plugins.of(job):
        if starting:  # all of them, whatever the marker says: a kill may have been interrupted
            attach += plugin.attachments(job)
            if plugin.is_marked:
                markers[marker(plugin)] = plugin.name
        elif marker(plugin) in markers or not plugin.is_marked:  # else a kill took them, and the job may end
            attach += plugin.refreshed(job)
    plan.attach = attach
    if starting and job.spec.volumes:
        names, plan.claims = volumes.claims_of(job)
        plan.claim_names = names
        markers |= {f"volume-pvc-{claim.name}": claim.name for claim in plan.claims}
    return msgspec.structs.replace(status, controlled_resources=markers, min_available=job.spec.min_available)


def _keep_podgroup(job: Job, podgroup: PodGroup | None, plan: Plan, facts: Facts) -> None:
    if podgroup is None:
        if facts.queue_closed:
            raise QueueClosed(
                f"queue '{job.spec.queue}' of job {job.metadata.key} is {facts.queue_closed} and takes no new work: "
                "open it, or submit to another queue"
            )
        plan.is_on_credit = facts.has_credit
        plan.podgroup_create = podgroups.build(job, facts.priorities, is_let_in=facts.has_credit)
        return
    change = podgroups.changes(job, podgroup, facts.priorities, facts.home_queue)
    if change:
        plan.podgroup_patch = (podgroup.metadata.name, change)
    complaint = podgroups.complaint(podgroup)
    if complaint:
        name = f"{job.metadata.namespace}:{job.metadata.name}"
        message = f"PodGroup {name} {complaint.type.lower()}, reason: {complaint.message}"
        plan.notes.append(Note("Warning", "PodGroupPending", message))


def _keep_pods(job: Job, members: Members, plan: Plan, tally: counts.Tally) -> None:
    create: list[Replica] = []
    restarting = job.status.state.phase == Phase.RESTARTING
    evict: list[Member] = [member for member in members if outlived_kill(job, member)] if restarting else []
    for member in evict:
        tally.move(member.task, member.standing, TERMINATING)
    if not plan.waits_for_podgroup:
        for position, task in enumerate(job.spec.tasks):
            name = task_name(task)
            present = members.of(name)
            as_wanted = _all_as_wanted(job, task, members)
            if as_wanted and len(present) >= task.replicas:
                continue
            room = min(MOST_AT_ONCE - len(create), _room(job, name, tally))
            missing = list(islice(_missing(job, position, task, present), room))
            if missing and dependencies.are_ready(job, task, members):
                create += missing
                tally.add(name, PodPhase.PENDING, len(missing))
            elif missing and (obstacle := dependencies.obstacle(job, task, members)):
                plan.notes.append(Note("Warning", "DependencyFailed", obstacle))
            if not as_wanted:
                evict += _unwanted(job, task, present.values(), tally)
    plan.unfinished = len(create) == MOST_AT_ONCE
    plan.create, plan.evict, plan.mark_evicted = create, evict, bool(evict)


def _room(job: Job, task: str, tally: counts.Tally) -> int:
    """How many more pods of a task there may be: `vsub --array 0-9%4` has four at a time that have not finished."""
    limit = job.metadata.annotations.get(keys.AT_ONCE, "")
    if not limit.isdecimal() or int(limit) == 0:
        return MOST_AT_ONCE
    return max(int(limit) - tally.alive(task), 0)


def _all_as_wanted(job: Job, task: TaskSpec, members: Members) -> bool:
    """Whether every pod of a task is one of its replicas, and stays. A look at a large job that runs costs no more
    than one at a small job."""

    def wanted(member: Member) -> bool:
        return not member.out_of_sync and is_replica(job, task, member.name)

    return members.are_all(task_name(task), wanted, (job.metadata.name, task.replicas))


def _missing(job: Job, position: int, task: TaskSpec, present: Mapping[str, Member]) -> Iterator[Replica]:
    """The replicas that have no pod, found one by one: there may be more than anybody can hold."""
    for index in range(task.replicas):
        pod = pod_name(job, task, index)
        if pod not in present:
            yield Replica(position, index, pod)


def _unwanted(job: Job, task: TaskSpec, present: Iterable[Member], tally: counts.Tally) -> Iterator[Member]:
    """Pods beyond the replicas, and pods whose deletion was begun."""
    for member in present:
        if member.terminating or outlived_kill(job, member):
            continue
        if not is_replica(job, task, member.name):
            tally.move(member.task, member.standing, TERMINATING)
            yield member
        elif member.out_of_sync:
            yield member


def outlived_kill(job: Job, member: Member) -> bool:
    """Still there in a restarting job though made for an earlier version: the kill was interrupted."""
    status = job.status
    if status.state.phase != Phase.RESTARTING or member.terminating or not 0 <= member.version < status.version:
        return False
    spared = _is_resumed(job) or status.retry_count >= job.spec.max_retry
    return not (spared and member.finished)


def _is_resumed(job: Job) -> bool:
    """The phase before this one says what the restart began with; a resumed job keeps its finished pods."""
    before = [condition.status for condition in job.status.conditions][-2:-1]
    return before == [Phase.ABORTED] or before == [Phase.ABORTING]


def _conclude(
    job: Job, plan: Plan, tally: counts.Tally, status: JobStatus, outcome: Outcome, now: datetime.datetime
) -> None:
    recounted = counts.recounted(status, tally)
    phase = outcome(job.spec, recounted)
    if phase in FINAL and plan.create:  # a job that has just ended starts nothing
        for replica in plan.create:
            tally.add(task_name(job.spec.tasks[replica.task]), PodPhase.PENDING, -1)
        plan.create, plan.unfinished = (), False
        recounted = counts.recounted(status, tally)
    if phase != recounted.state.phase:
        reason, message = cause(job.spec, recounted, phase)
        recounted = counts.entered(recounted, phase, now, reason=reason, message=message)
        if phase in FINAL:
            recounted = counts.with_running_duration(job, recounted)
    plan.status = recounted if recounted != job.status else None
