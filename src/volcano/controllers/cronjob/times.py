"""When a cronjob is due: the start that is owed now, how many were missed, and when to look again.

Pure, on `volcano.api.cron` schedules. Used by machine.py.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from volcano.api import cron

if TYPE_CHECKING:
    from volcano.api.batch import CronJob
    from volcano.api.cron import Schedule

MANY: Final = 100
"""More missed starts than this are worth a warning."""
SLACK: Final = datetime.timedelta(milliseconds=100)
"""Looking a little late is better than looking a little early."""


class NeverDue(ValueError):
    """A schedule with no time in it, such as the 31st of February."""

    def __init__(self) -> None:
        super().__init__("time difference between two schedules is less than 1 second")


class UnknownZone(ValueError):
    """`spec.timeZone` names no time zone."""


class Missed(Enum):
    NONE = 0
    FEW = 1
    MANY = 2


@dataclass(frozen=True, slots=True)
class Due:
    since: datetime.datetime
    """No start up to here is owed any more."""
    time: datetime.datetime | None
    """The latest start that is owed."""
    missed: Missed


def schedule_of(cronjob: CronJob, local: datetime.tzinfo = datetime.UTC) -> Schedule:
    """The schedule in its zone: the one it names, else `spec.timeZone`, else `local`."""
    zone = local
    if cronjob.spec.time_zone:
        try:
            zone = cron.zone_of(cronjob.spec.time_zone)
        except cron.ScheduleError as error:
            raise UnknownZone(str(error)) from None
    return cron.parse(cronjob.spec.schedule, zone)


def due(cronjob: CronJob, schedule: Schedule, now: datetime.datetime, *, deadline: bool = True) -> Due:
    """The latest start before `now` that has not been made; `deadline` forgets those that came too long ago."""
    since, first = _since(cronjob, schedule, now, cronjob.spec.starting_deadline_seconds if deadline else None)
    if first > now:
        return Due(since, None, Missed.NONE)
    return Due(since, schedule.latest(since, now), _how_many(schedule, first, now))


def _since(
    cronjob: CronJob, schedule: Schedule, now: datetime.datetime, deadline_seconds: int | None
) -> tuple[datetime.datetime, datetime.datetime]:
    """Up to when no start is owed any more, and the first one after that."""
    since = cronjob.status.last_schedule_time or cronjob.metadata.creation_timestamp or now
    if deadline_seconds is not None:
        since = max(since, now - datetime.timedelta(seconds=deadline_seconds))
    first = schedule.after(since)
    if first is None:
        raise NeverDue
    return since, first


def wait(cronjob: CronJob, schedule: Schedule, now: datetime.datetime) -> datetime.timedelta:
    """How long until there is something to start, whatever the deadline says of the past."""
    since, following = _since(cronjob, schedule, now, None)
    if following <= now:
        last = schedule.latest(since, now)
        after = schedule.after(last) if last is not None else None
        if after is None:
            raise NeverDue
        following = after
    return following + SLACK - now


def _how_many(schedule: Schedule, first: datetime.datetime, now: datetime.datetime) -> Missed:
    """Starts before the latest one."""
    time: datetime.datetime | None = first
    for missed in range(MANY):
        time = schedule.after(time) if time is not None else None
        if time is None or time > now:
            return Missed.FEW if missed else Missed.NONE
    return Missed.MANY
