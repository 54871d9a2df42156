"""Taking pods away: of the whole job, of a task, of a partition, or one pod.

Pure. Chosen by the machine's table. Pods that stay are counted like any other.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

import msgspec

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.controllers.job import counts
from volcano.controllers.job.members import TERMINATING
from volcano.controllers.job.outcomes import Outcome, cause
from volcano.controllers.job.plan import Plan
from volcano.controllers.job.plugins.interface import MARKER_PREFIX
from volcano.controllers.job.vocabulary import FINISHED_PODS, Action, Phase

if TYPE_CHECKING:
    from volcano.api.batch import Job, JobStatus
    from volcano.api.scheduling import PodGroup
    from volcano.controllers.job.events import Event
    from volcano.controllers.job.facts import Facts
    from volcano.controllers.job.members import Member, Members


OUT_OF_SYNC_PATCH: JsonObject = {"metadata": {"annotations": {keys.CONTROLLER_OUT_OF_SYNC: "true"}}}
"""Marks a pod before its deletion, so that its end is no eviction to anybody, whoever watches then."""


def kill_job(
    job: Job,
    members: Members,
    podgroup: PodGroup | None,
    now: datetime.datetime,
    facts: Facts,
    *,
    outcome: Outcome,
    spare: Set[str],
    retries: int = 0,
) -> Plan:
    """Delete every pod but those in a phase of `spare`, the plugins' objects, and the podgroup."""
    if _last_retry(job):
        spare = FINISHED_PODS  # whoever looks for the cause of the failures finds the pods
    doomed = [member for member in members if not member.terminating and member.phase not in spare]
    status = _after(job, members, doomed, now, outcome, retries)
    marks = status.controlled_resources
    kept = {key: value for key, value in marks.items() if not key.startswith(MARKER_PREFIX)}
    attached = _attached(job, facts)
    detach = facts.plugins.leftovers(job) if attached else []
    status = msgspec.structs.replace(status, controlled_resources=kept)
    if doomed or status != job.status:
        status = msgspec.structs.replace(status, version=job.status.version + 1)
    intent = msgspec.structs.replace(status, controlled_resources={**marks, **attached})
    return Plan(
        status=status if status != job.status else None,
        intent=intent if doomed or detach else None,
        evict=doomed,
        detach=detach,
        podgroup_delete=podgroup.metadata.name if podgroup is not None else "",
    )


def settle(job: Job, members: Members, podgroup: PodGroup | None, now: datetime.datetime, facts: Facts) -> Plan:
    """The job is over: what is still alive goes; when nothing is, nothing is written."""
    plan = kill_job(job, members, podgroup, now, facts, outcome=_unchanged(job), spare=FINISHED_PODS)
    if plan.status is not None:  # no policy listens any more: there is no event to invalidate
        status = msgspec.structs.replace(plan.status, version=job.status.version)
        plan.status = status if status != job.status else None
    plan.intent = None
    return plan


def kill_target(
    job: Job,
    members: Members,
    now: datetime.datetime,
    facts: Facts,
    *,
    event: Event,
    outcome: Outcome,
    retries: int = 0,
) -> Plan:
    """Delete the pods that a targeted restart names; podgroup, version and the plugins' objects stay."""
    targets = _targets(members, event)
    if event.action == Action.RESTART_PARTITION and not targets:
        return Plan()
    doomed = [member for member in targets if not member.terminating]
    status = _after(job, members, doomed, now, outcome, retries)
    status = msgspec.structs.replace(
        status, controlled_resources={**status.controlled_resources, **_attached(job, facts)}
    )
    return Plan(
        status=status if status != job.status else None,
        intent=status if doomed else None,
        evict=doomed,
        mark_evicted=True,
    )


def _attached(job: Job, facts: Facts) -> dict[str, str]:
    """Markers of the plugins with objects beside the job; one that starts may have them before its status says so."""
    marks = job.status.controlled_resources
    if job.status.state.phase in {"", Phase.PENDING}:
        return facts.plugins.markers(job)
    return {key: value for key, value in marks.items() if key.startswith(MARKER_PREFIX)}


def _targets(members: Members, event: Event) -> Sequence[Member]:
    match event.action:
        case Action.RESTART_POD:
            pod = members.get(event.task, event.pod)
            return [pod] if pod else []
        case Action.RESTART_PARTITION:
            return members.partition(event.task, event.partition)
        case _:
            return list(members.of(event.task).values())


def _after(
    job: Job, members: Members, doomed: Sequence[Member], now: datetime.datetime, outcome: Outcome, retries: int
) -> JobStatus:
    tally = counts.Tally(members)
    for member in doomed:
        tally.move(member.task, member.standing, TERMINATING)
    status = counts.recounted(job.status, tally)
    status = msgspec.structs.replace(status, retry_count=job.status.retry_count + retries)
    phase = outcome(job.spec, status)
    if phase != job.status.state.phase:
        reason, message = cause(job.spec, status, phase)
        status = counts.entered(status, phase, now, reason=reason, message=message)
    elif status.running_duration:
        return status  # said at the last transition
    return counts.with_running_duration(job, status)


def _last_retry(job: Job) -> bool:
    return job.status.retry_count >= job.spec.max_retry - 1


def _unchanged(job: Job) -> Outcome:
    phase = Phase(job.status.state.phase)
    return lambda _spec, _status: phase
