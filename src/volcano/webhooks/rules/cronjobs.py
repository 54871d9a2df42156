"""CronJobs: a schedule that can be read, a time zone that exists, a name with room for the jobs' suffix."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from volcano.api import cron
from volcano.api.batch import CronJob
from volcano.webhooks.rules import names
from volcano.webhooks.rules.decode import decoded
from volcano.webhooks.rules.model import ALLOWED, AdmissionRequest, AdmissionResponse, Cause, Settings, World, denied

NAME_LIMIT: Final = 52
IANA: Final = "https://www.iana.org/time-zones"

_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


def validate(request: AdmissionRequest, _world: World, _settings: Settings) -> AdmissionResponse:
    if request.operation not in ("CREATE", "UPDATE"):
        return denied("expect operation to be 'CREATE' or 'UPDATE'")
    cronjob = decoded(request.object, CronJob)
    wrong = [*_schedule_errors(cronjob), *_zone_errors(cronjob.spec.time_zone), *_name_errors(cronjob.metadata.name)]
    return denied("; ".join(cause.message for cause in wrong), wrong) if wrong else ALLOWED


def _schedule_errors(cronjob: CronJob) -> Iterator[Cause]:
    schedule = cronjob.spec.schedule
    where = "spec.schedule"
    if not schedule:
        yield Cause(where, "schedule is required, but got empty", 'for example "0 2 * * *": every night at two')
    elif "TZ" in schedule:
        message = "schedule should not contain TZ or CRON_TZ, TZ should only be set in the timeZone field"
        yield Cause(where, message, "move the zone to spec.timeZone")
    elif not cron.is_schedule(schedule):
        hint = "five fields (minute hour day month weekday), or @hourly, @daily, @every 1h"
        yield Cause(where, "schedule is not a valid cron expression", hint)


def _zone_errors(zone: str | None) -> Iterator[Cause]:
    if zone is None:
        return
    where = "spec.timeZone"
    hint = "use a name such as Europe/Paris, or leave the field out"
    if not zone:
        yield Cause(where, "timeZone must be nil or non-empty string, got empty string", hint)
        return
    if zone.lower() == "local":
        yield Cause(where, f"timeZone can't be Local, and must be defined in {IANA}", hint)
        return
    misspelt = any(not _is_zone_part(part) for part in zone.split("/"))
    said = [*(["unknown timeZone"] if misspelt else []), *([] if _is_known(zone) else ["invalid timeZone"])]
    if said:
        yield Cause(where, " ".join(said), hint)


def _is_zone_part(part: str) -> bool:
    return part not in (".", "..") and not part.startswith("-") and _ZONE_PART.fullmatch(part) is not None


def _is_known(zone: str) -> bool:
    try:
        ZoneInfo(str(PurePosixPath(zone)))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _name_errors(name: str) -> Iterator[Cause]:
    where = "metadata.name"
    if len(name) > NAME_LIMIT:
        room = "to accommodate job name suffix (max 63 total)"
        yield Cause(where, f"cronJob name must be no more than {NAME_LIMIT} characters {room}", "choose a shorter name")
    elif bad := names.qualified_name(name):
        yield Cause(where, f'invalid cronJob name "{name}": {"; ".join(bad)}', "choose another name")
