"""Cron schedules: five fields in a time zone, a word such as @daily, or @every with a duration.

A schedule holds at every instant whose local wall clock its fields match: an hour that clocks skip has none, one that
they repeat has two.
"""

from __future__ import annotations

import datetime
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from volcano.api import duration

WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EVERY: Final = "@every "
ZONE_PREFIXES: Final = ("TZ=", "CRON_TZ=")
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
HORIZON_DAYS: Final = 9 * 366
"""The 29th of February comes again within eight years; what does not come by then never does."""

_SECOND: Final = datetime.timedelta(seconds=1)
_DAY: Final = datetime.timedelta(days=1)
_PART: Final = re.compile(r"(?P<first>[^-/]+)(-(?P<last>[^-/]+))?(/(?P<step>[0-9]+))?")


LONGEST = 256


class ScheduleError(ValueError):
    """The text is no schedule."""


@dataclass(frozen=True, slots=True)
class Field:
    """The values a field allows; `open` when it was left to chance (* or ?)."""

    values: tuple[int, ...]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Fields:
    """A schedule in five fields."""

    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field
    zone: datetime.tzinfo

    def after(self, moment: datetime.datetime) -> datetime.datetime | None:
        """The first time later than `moment`; None when there is none."""
        local = moment.astimezone(self.zone)
        for day in self._days(local.date()):
            if (found := self._first_in(day, moment)) is not None:
                return found
        return None

    def latest(self, since: datetime.datetime, until: datetime.datetime) -> datetime.datetime | None:
        """The last time later than `since` that is not later than `until`."""
        found = self.after(since)
        if found is None or found > until:
            return None
        low, high = 0, int((until - since).total_seconds()) + 1  # the answer follows `since + low` seconds
        while high - low > 1:
            middle = (low + high) // 2
            later = self.after(since + middle * _SECOND)
            if later is not None and later <= until:
                low, found = middle, later
            else:
                high = middle
        return found

    def _days(self, first: datetime.date) -> Iterator[datetime.date]:
        """The days that match, from `first` on."""
        day, last = first, first + HORIZON_DAYS * _DAY
        while day < last:
            if day.month not in self.month.values:
                day = (day.replace(day=1) + 32 * _DAY).replace(day=1)
            else:
                if self._matches(day):
                    yield day
                day += _DAY

    def _matches(self, day: datetime.date) -> bool:
        """Day of the month and day of the week: either is enough, unless one of them is open."""
        by_date = day.day in self.day.values
        by_weekday = day.isoweekday() % 7 in self.weekday.values
        if self.day.open or self.weekday.open:
            return by_date and by_weekday
        return by_date or by_weekday

    def _first_in(self, day: datetime.date, moment: datetime.datetime) -> datetime.datetime | None:
        midnight = datetime.datetime.combine(day, datetime.time())
        if _offset(midnight, self.zone) != _offset(midnight + _DAY, self.zone):
            return min((time for time in self._all_in(midnight) if time > moment), default=None)
        local = moment.astimezone(self.zone).replace(tzinfo=None)
        earliest = max(midnight, local.replace(second=0, microsecond=0) + datetime.timedelta(minutes=1))
        wall = self._first_wall(midnight, earliest)
        return None if wall is None else wall.replace(tzinfo=self.zone).astimezone(datetime.UTC)

    def _first_wall(self, midnight: datetime.datetime, earliest: datetime.datetime) -> datetime.datetime | None:
        if earliest.date() > midnight.date():
            return None
        for hour in self.hour.values[bisect_left(self.hour.values, earliest.hour) :]:
            least = earliest.minute if hour == earliest.hour else 0
            position = bisect_left(self.minute.values, least)
            if position < len(self.minute.values):
                return midnight.replace(hour=hour, minute=self.minute.values[position])
        return None

    def _all_in(self, midnight: datetime.datetime) -> Iterator[datetime.datetime]:
        """Every time of a day on which clocks change."""
        for hour in self.hour.values:
            for minute in self.minute.values:
                wall = midnight.replace(hour=hour, minute=minute)
                for fold in (0, 1):
                    time = wall.replace(tzinfo=self.zone, fold=fold).astimezone(datetime.UTC)
                    if time.astimezone(self.zone).replace(tzinfo=None) == wall:
                        yield time


@dataclass(frozen=True, slots=True)
class Every:
    """A schedule that counts from its last time, not from the clock on the wall."""

    interval: datetime.timedelta

    def after(self, moment: datetime.datetime) -> datetime.datetime | None:
        return moment.replace(microsecond=0) + self.interval

    def latest(self, since: datetime.datetime, until: datetime.datetime) -> datetime.datetime | None:
        since = since.replace(microsecond=0)
        count = (until - since) // self.interval
        return since + count * self.interval if count > 0 else None


Schedule: TypeAlias = Fields | Every


def parse(text: str, zone: datetime.tzinfo = datetime.UTC) -> Schedule:
    """The schedule that `text` says, in `zone` unless it names one itself (TZ=Europe/Paris 0 2 * * *)."""
    if len(text) > LONGEST:
        raise ScheduleError(f"{text[:20]!r}… is longer than {LONGEST} characters")
    if text.startswith(ZONE_PREFIXES):
        prefix, _, text = text.partition(" ")
        name = prefix.partition("=")[2]
        try:
            zone = zone_of(name)
        except ScheduleError as error:
            raise ScheduleError(f"provided bad location {name}: {error}") from None
        text = text.strip()
    if text.startswith(EVERY):
        return _every(text)
    if text.startswith("@"):
        if text not in WORDS:
            raise ScheduleError(f"unrecognized descriptor: {text}: there are {', '.join(WORDS)} and @every 1h30m")
        text = WORDS[text]
    fields = text.split()
    if not fields:
        raise ScheduleError("empty spec string")
    if len(fields) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    return Fields(
        minute=_field("minute", fields[0], 0, 59),
        hour=_field("hour", fields[1], 0, 23),
        day=_field("day of the month", fields[2], 1, 31),
        month=_field("month", fields[3], 1, 12, {name: number for number, name in enumerate(MONTHS, 1)}),
        weekday=_field("day of the week", fields[4], 0, 6, {name: number for number, name in enumerate(DAYS)}),
        zone=zone,
    )


def is_schedule(text: str) -> bool:
    try:
        parse(text)
    except ScheduleError:
        return False
    return True


@lru_cache(maxsize=256)
def zone_of(name: str) -> datetime.tzinfo:
    """The time zone with an IANA name."""
    if name in {"", "UTC"}:
        return datetime.UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(f"unknown time zone {name}") from None


def _offset(wall: datetime.datetime, zone: datetime.tzinfo) -> datetime.timedelta | None:
    return wall.replace(tzinfo=zone).utcoffset()


def _every(text: str) -> Every:
    try:
        interval = duration.parse(text.removeprefix(EVERY))
    except duration.DurationError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None
    return Every(max(interval // _SECOND * _SECOND, _SECOND))


def _field(what: str, text: str, low: int, high: int, words: dict[str, int] | None = None) -> Field:
    parts = [part for part in text.split(",") if part]
    if not parts:
        raise ScheduleError(f"{what} {text!r}: expected *, a number, a range or a list")
    values: set[int] = set()
    is_open = False
    for part in parts:
        found, wild = _part(what, part, low, high, words or {})
        values.update(found)
        is_open = is_open or wild
    return Field(tuple(sorted(values)), is_open)


def _part(what: str, text: str, low: int, high: int, words: dict[str, int]) -> tuple[range, bool]:
    """A star, a number or a range, each perhaps with a step; the flag says that the field stays open."""
    found = _PART.fullmatch(text)
    if found is None:
        raise ScheduleError(f"{what} {text!r}: expected *, a number or a range, perhaps with a /step")
    step = int(found["step"] or 1)
    if step == 0:
        raise ScheduleError(f"{what} {text!r}: step of range should be a positive number")
    if found["first"] in ("*", "?"):
        if found["last"] is not None:
            raise ScheduleError(f"{what} {text!r}: * is a range already")
        return range(low, high + 1, step), step == 1
    first = _value(what, found["first"], words)
    if found["last"] is not None:
        last = _value(what, found["last"], words)
    else:
        last = first if found["step"] is None else high
    if not low <= first <= last <= high:
        raise ScheduleError(f"{what} {text!r}: expected {low} to {high}, in this order")
    return range(first, last + 1, step), False


def _value(what: str, text: str, words: dict[str, int]) -> int:
    if re.fullmatch("[0-9]+", text):
        return int(text)
    if text.lower() not in words:
        raise ScheduleError(f"{what} {text!r}: neither a number nor a name")
    return words[text.lower()]
