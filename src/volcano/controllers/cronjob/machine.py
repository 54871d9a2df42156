"""One step of a cronjob's life: which jobs are over, which are remembered, and whether one has to start now.

Pure. `step` makes the plan that controller.py performs; `settled` says what follows from a job that was started.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from volcano.api.cron import ScheduleError
from volcano.api.meta import ObjectReference, controller_of
from volcano.api.phases import ABORTED, COMPLETED, FAILED, TERMINATED
from volcano.controllers.cronjob import times
from volcano.controllers.notes import NORMAL, WARNING, Note
from volcano.controllers.owners import JOB_API_VERSION, JOB_KIND

if TYPE_CHECKING:
    from volcano.api.batch import CronJob, CronJobStatus, Job

KIND: Final = "CronJob"
OVER: Final = frozenset({COMPLETED, FAILED, TERMINATED, ABORTED})
"""An aborted job can be resumed; until then it is in nobody's way."""
FORBID: Final = "Forbid"
REPLACE: Final = "Replace"
_MINUTE_DIGITS: Final = 9
"""Of the minutes since 1970 in names; more are beyond all calendars."""
TOO_MANY: Final = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"


@dataclass(slots=True)
class Plan:
    status: CronJobStatus
    notes: list[Note] = field(default_factory=list)
    remove: Sequence[str] = ()
    """Finished jobs beyond what is kept."""
    replace: Sequence[ObjectReference] = ()
    """Jobs to delete before the new one starts."""
    start: datetime.datetime | None = None
    """The scheduled time of the job to create."""
    wait: datetime.timedelta | None = None
    """When to look again; None: when something changes."""


def step(
    cronjob: CronJob,
    owned: Sequence[Job],
    others: Mapping[str, Job],
    now: datetime.datetime,
    local: datetime.tzinfo = datetime.UTC,
) -> Plan:
    """What to do for `cronjob` now.

    `owned` are its jobs; `others` the jobs in its active list, by name, that are there without being its own.
    """
    plan = Plan(msgspec.structs.replace(cronjob.status, active=list(cronjob.status.active)))
    tidy(cronjob, owned, plan)
    take_stock(owned, others, plan)
    if cronjob.spec.suspend or cronjob.metadata.deletion_timestamp is not None:
        remember(cronjob, plan)
        return plan
    try:
        _schedule(cronjob, owned, plan, now, local)
    except times.UnknownZone as error:
        plan.notes.append(Note(WARNING, "InvalidTimeZone", f'Invalid time zone "{cronjob.spec.time_zone}": {error}'))
    except ScheduleError as error:
        plan.notes.append(Note(WARNING, "UnParseableCronJobSchedule", unparseable(cronjob, error)))
    except times.NeverDue as error:
        plan.notes.append(Note(WARNING, "InvalidSchedule", f"Error getting schedule time: {error}"))
    remember(cronjob, plan)
    return plan


def remember(cronjob: CronJob, plan: Plan) -> None:
    """Jobs that go take the proof of their start with them: it is written down before."""
    going = [*plan.remove, *(reference.name for reference in plan.replace)]
    plan.status.last_schedule_time = last_start(cronjob, plan.status, going)


def last_start(cronjob: CronJob, status: CronJobStatus, names: Iterable[str]) -> datetime.datetime | None:
    """By the status, or by the jobs of these names."""
    known = status.last_schedule_time
    return max([*filter(None, (_time_in(name, cronjob) for name in names)), *([known] if known else [])], default=None)


def unparseable(cronjob: CronJob, error: ScheduleError) -> str:
    return f"unparseable schedule for cronjob: {cronjob.spec.schedule}: {error}"


def tidy(cronjob: CronJob, owned: Sequence[Job], plan: Plan) -> None:
    """Take jobs that are over off the active list, and choose those that are no longer kept."""
    ended = [job for job in owned if job.status.state.phase in OVER]
    for job in ended:
        if _is_active(plan.status, job):
            _drop(plan.status, job.metadata.uid)
            message = f"Saw completed job: {job.metadata.name} in active, remove"
            plan.notes.append(Note(NORMAL, "SawCompletedJob", message))
    completed = [job for job in ended if job.status.state.phase == COMPLETED]
    failed = [job for job in ended if job.status.state.phase in {FAILED, TERMINATED}]
    plan.status.last_successful_time = _latest_end(completed, plan.status.last_successful_time)
    plan.remove = [
        *oldest(completed, cronjob.spec.successful_jobs_history_limit),
        *oldest(failed, cronjob.spec.failed_jobs_history_limit),
    ]


def take_stock(owned: Sequence[Job], others: Mapping[str, Job], plan: Plan) -> None:
    """Make the active list true: our unfinished jobs belong on it, and what is gone does not."""
    alive = {job.metadata.uid: job for job in owned if job.status.state.phase not in OVER}
    for reference in list(plan.status.active):
        if reference.uid not in alive and not _is_there(reference, others):
            _drop(plan.status, reference.uid)
            message = f'Active job "{reference.name}" no longer exists (UID: {reference.uid})'
            plan.notes.append(Note(WARNING, "StaleReference", message))
    for job in alive.values():
        if not _is_active(plan.status, job):
            plan.status.active.append(reference_to(job))
            message = f"Job {job.metadata.name} was running without being in active, added"
            plan.notes.append(Note(WARNING, "OrphanedJob", message))


def _schedule(
    cronjob: CronJob, owned: Sequence[Job], plan: Plan, now: datetime.datetime, local: datetime.tzinfo
) -> None:
    if "TZ" in cronjob.spec.schedule:
        message = (
            f'CRON_TZ or TZ in the schedule "{cronjob.spec.schedule}" is not officially supported. '
            "If set, the TimeZone field will be ignored during execution."
        )
        plan.notes.append(Note(WARNING, "UnsupportedSchedule", message))
        cronjob = msgspec.structs.replace(cronjob, spec=msgspec.structs.replace(cronjob.spec, time_zone=None))
    schedule = times.schedule_of(cronjob, local)
    due = times.due(cronjob, schedule, now)
    if due.missed is times.Missed.MANY:
        plan.notes.append(Note(WARNING, "TooManyMissedTimes", TOO_MANY))
    plan.wait = times.wait(cronjob, schedule, now)
    if due.time is None or _has_started(cronjob, plan.status, due.time):
        return
    latest = last_start(cronjob, plan.status, (job.metadata.name for job in owned))
    if latest is not None and latest >= due.time:  # the word of its start was lost
        plan.status.last_schedule_time = latest
        return
    if make_room(cronjob, plan):
        plan.start = due.time


def make_room(cronjob: CronJob, plan: Plan) -> bool:
    """Whether a job may start: beside those that run, or in their place."""
    if plan.status.active and cronjob.spec.concurrency_policy == FORBID:
        message = "Skipping job creation because another job is already running"
        plan.notes.append(Note(WARNING, "ForbidConcurrent", message))
        return False
    if plan.status.active and cronjob.spec.concurrency_policy == REPLACE:
        plan.notes.append(Note(WARNING, "ReplaceConcurrent", "Replacing active job for CronJob"))
        plan.replace = list(plan.status.active)
    return True


def settled(status: CronJobStatus, job: Job, scheduled: datetime.datetime) -> CronJobStatus:
    """The status once `job` runs for the time `scheduled`."""
    return msgspec.structs.replace(status, active=[*status.active, reference_to(job)], last_schedule_time=scheduled)


def owns(cronjob: CronJob, job: Job) -> bool:
    owner = controller_of(job.metadata)
    return owner is not None and (owner.kind, owner.name, owner.uid) == (
        KIND,
        cronjob.metadata.name,
        cronjob.metadata.uid,
    )


def foreign(job: Job) -> Note:
    owner = controller_of(job.metadata)
    who = "none" if owner is None else f"{owner.kind}/{owner.name}"
    message = f"Job {job.metadata.name} exists but is not owned by this CronJob (current owner: {who})"
    return Note(WARNING, "ForeignJob", message)


def job_name(cronjob: CronJob, scheduled: datetime.datetime) -> str:
    """One name per scheduled minute: a job that was started once is not started again."""
    return f"{cronjob.metadata.name}-{int(scheduled.timestamp()) // 60}"


def _time_in(name: str, cronjob: CronJob) -> datetime.datetime | None:
    """The scheduled time in the name of a job of ours."""
    prefix, _, minutes = name.rpartition("-")
    if prefix != cronjob.metadata.name or not (minutes.isdecimal() and len(minutes) <= _MINUTE_DIGITS):
        return None
    return datetime.datetime.fromtimestamp(60 * int(minutes), datetime.UTC)


def reference_to(job: Job) -> ObjectReference:
    meta = job.metadata
    return ObjectReference(
        api_version=JOB_API_VERSION, kind=JOB_KIND, namespace=meta.namespace, name=meta.name, uid=meta.uid
    )


def _has_started(cronjob: CronJob, status: CronJobStatus, scheduled: datetime.datetime) -> bool:
    name = job_name(cronjob, scheduled)
    return status.last_schedule_time == scheduled or any(reference.name == name for reference in status.active)


def _is_active(status: CronJobStatus, job: Job) -> bool:
    return any(reference.uid == job.metadata.uid for reference in status.active)


def _is_there(reference: ObjectReference, jobs: Mapping[str, Job]) -> bool:
    job = jobs.get(reference.name)
    return job is not None and job.metadata.uid == reference.uid and job.status.state.phase not in OVER


def _drop(status: CronJobStatus, uid: str) -> None:
    status.active = [reference for reference in status.active if reference.uid != uid]


def _latest_end(jobs: Iterable[Job], known: datetime.datetime | None) -> datetime.datetime | None:
    ends = [end for job in jobs if (end := job.status.state.last_transition_time) is not None]
    return max([*ends, *([known] if known else [])], default=None)


def oldest(jobs: Sequence[Job], limit: int | None) -> list[str]:
    """Names of the jobs beyond the newest `limit`; no limit keeps all."""
    if limit is None or len(jobs) <= limit:
        return []
    never = datetime.datetime.max.replace(tzinfo=datetime.UTC)
    by_age = sorted(jobs, key=lambda job: (job.metadata.creation_timestamp or never, job.metadata.name))
    return [job.metadata.name for job in by_age[: len(jobs) - limit]]
