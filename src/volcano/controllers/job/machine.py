"""The life of a job as a table: ten phases, the actions each one knows, and what follows.

Pure: same inputs, same plan. Called by controller.py for every event, and by `vcctl schedule` on files.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from volcano.api.phases import RETRIES_USED_UP
from volcano.controllers.job import policies
from volcano.controllers.job.events import SYNC, Event
from volcano.controllers.job.facts import Facts
from volcano.controllers.job.kill import kill_job, kill_target, settle
from volcano.controllers.job.outcomes import Outcome, always, drained, finished, restarted, started
from volcano.controllers.job.plan import Delayed, Plan
from volcano.controllers.job.sync import sync_job
from volcano.controllers.job.vocabulary import FINISHED_PODS, Action, Phase
from volcano.controllers.notes import Note

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.api.scheduling import PodGroup
    from volcano.controllers.job.members import Members


@dataclass(frozen=True, slots=True)
class Sync:
    """Bring the pods to what the specification says."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Kill:
    """Take all pods away except those in a phase of `spare`."""

    outcome: Outcome
    spare: Set[str] = frozenset()
    retries: int = 0


@dataclass(frozen=True, slots=True)
class KillTarget:
    """Take the pods away that the event names."""

    outcome: Outcome
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Settle:
    """Clean up after a job that is over."""


Transition: TypeAlias = Sync | Kill | KillTarget | Settle
OTHERWISE = ""
"""Row of a phase for every action that has no row of its own."""

TARGETED = (Action.RESTART_TASK, Action.RESTART_POD, Action.RESTART_PARTITION)
_KEEP = FINISHED_PODS

_LEAVE: Mapping[str, Transition] = {
    Action.RESTART_JOB: Kill(always(Phase.RESTARTING), retries=1),
    Action.ABORT_JOB: Kill(always(Phase.ABORTING), spare=_KEEP),
    Action.COMPLETE_JOB: Kill(always(Phase.COMPLETING), spare=_KEEP),
    Action.TERMINATE_JOB: Kill(always(Phase.TERMINATING), spare=_KEEP),
    **dict.fromkeys(TARGETED, KillTarget(always(Phase.RESTARTING), retries=1)),
}
_RESUME: Mapping[str, Transition] = {
    Action.RESUME_JOB: Kill(always(Phase.RESTARTING), spare=_KEEP, retries=1),
}

TABLE: Mapping[str, Mapping[str, Transition]] = {
    Phase.PENDING: {**_LEAVE, OTHERWISE: Sync(started)},
    Phase.RUNNING: {**_LEAVE, OTHERWISE: Sync(finished)},
    Phase.RESTARTING: {
        Action.SYNC_JOB: Sync(restarted),
        **dict.fromkeys(TARGETED, KillTarget(restarted)),
        OTHERWISE: Kill(restarted),
    },
    Phase.ABORTING: {**_RESUME, OTHERWISE: Kill(drained(Phase.ABORTING, Phase.ABORTED), spare=_KEEP)},
    Phase.ABORTED: {**_RESUME, OTHERWISE: Settle()},
    Phase.COMPLETING: {OTHERWISE: Kill(drained(Phase.COMPLETING, Phase.COMPLETED), spare=_KEEP)},
    Phase.TERMINATING: {OTHERWISE: Kill(drained(Phase.TERMINATING, Phase.TERMINATED), spare=_KEEP)},
    Phase.COMPLETED: {OTHERWISE: Settle()},
    Phase.TERMINATED: {OTHERWISE: Settle()},
    Phase.FAILED: {OTHERWISE: Settle()},
}


def step(
    job: Job,
    members: Members,
    podgroup: PodGroup | None,
    event: Event = SYNC,
    now: datetime.datetime = datetime.datetime.min,
    facts: Facts | None = None,
) -> Plan:
    """What to create, delete and write for `job` after `event`."""
    resolution = policies.resolve(job, event)
    if resolution.delay:
        return _later(resolution, event)
    plan = act(job, members, podgroup, replace(event, action=resolution.action), now, facts)
    if resolution.action != Action.SYNC_JOB:
        plan.notes.insert(0, Note("Normal", "ExecuteAction", f"Start to execute action {resolution.action} "))
    return plan


def act(
    job: Job,
    members: Members,
    podgroup: PodGroup | None,
    order: Event,
    now: datetime.datetime,
    facts: Facts | None = None,
) -> Plan:
    """Perform `order.action` in the job's present phase; policies have had their say."""
    if job.metadata.deletion_timestamp is not None:
        return Plan(action=order.action)
    facts = facts or Facts()
    match transition_of(job.status.state.phase, order.action):
        case Sync(outcome):
            plan = sync_job(job, members, podgroup, now, facts, outcome=outcome)
        case Kill(outcome, spare, retries):
            plan = kill_job(job, members, podgroup, now, facts, outcome=outcome, spare=spare, retries=retries)
        case KillTarget(outcome, retries):
            plan = kill_target(job, members, now, facts, event=order, outcome=outcome, retries=retries)
        case Settle():
            plan = settle(job, members, podgroup, now, facts)
    plan.action = order.action
    if plan.status is not None and plan.status.state.reason == RETRIES_USED_UP != job.status.state.reason:
        plan.notes.append(Note("Warning", "ExecuteAction", f"The job has failed: {plan.status.state.message}"))
    return plan


def transition_of(phase: str, action: str) -> Transition:
    """The table's row; an unknown phase is Pending, an unknown action takes the row for all others."""
    row = TABLE.get(phase) or TABLE[Phase.PENDING]
    return row.get(action, row[OTHERWISE])


def _later(resolution: policies.Resolution, event: Event) -> Plan:
    message = f"Execute action {resolution.action} after {resolution.delay_text}"
    return Plan(
        action=resolution.action,
        notes=[Note("Normal", "ExecuteAction", message)],
        delayed=Delayed(resolution.action, resolution.delay, event),
    )
