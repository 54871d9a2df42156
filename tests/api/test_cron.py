"""Schedules: what can be read, and the times they hold, also on days when clocks change."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from volcano.api import cron

NEW_YORK = ZoneInfo("America/New_York")
MINUTE = datetime.timedelta(minutes=1)


def at(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def times(text: str, start: str, count: int, zone: datetime.tzinfo = datetime.UTC) -> list[str]:
    schedule = cron.parse(text, zone)
    moment: datetime.datetime | None = at(start)
    found = []
    for _ in range(count):
        assert moment is not None
        moment = schedule.after(moment)
        assert moment is not None
        found.append(f"{moment:%Y-%m-%dT%H:%MZ}")
    return found


@pytest.mark.parametrize(
    "text",
    ["* * * * *", "*/5 0-6/2 1,15 JAN-mar ?", "@hourly", "@every 1h30m", "5/10 * * * *", "TZ=Asia/Tokyo 0 9 * * *"],
)
def test_what_can_be_read(text: str) -> None:
    assert cron.is_schedule(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("* * * *", "expected exactly 5 fields, found 4"),
        ("* * * * * *", "found 6"),
        ("60 * * * *", "minute '60': expected 0 to 59"),
        ("*/0 * * * *", "step of range should be a positive number"),
        ("5-1 * * * *", "in this order"),
        ("*-5 * * * *", "a range already"),
        ("@reboot", "unrecognized descriptor: @reboot"),
        ("a * * * *", "minute 'a': neither a number nor a name"),
        ("* * * * 7", "day of the week '7': expected 0 to 6"),
        (", * * * *", "minute ',': expected"),
        ("1-2-3 * * * *", "minute '1-2-3'"),
        ("@every x", "failed to parse duration"),
        ("TZ=Mars/Base 0 0 * * *", "provided bad location Mars/Base: unknown time zone Mars/Base"),
        ("TZ=UTC", "empty"),
    ],
)
def test_what_cannot_is_told_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(cron.ScheduleError, match=why.replace("*", r"\*")):
        cron.parse(text)


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("*/15 * * * *", "2026-01-01T00:07:30Z", ["2026-01-01T00:15Z", "2026-01-01T00:30Z"]),
        ("0 9 * * mon-fri", "2026-01-02T09:00:00Z", ["2026-01-05T09:00Z", "2026-01-06T09:00Z"]),
        ("0 0 13 * 5", "2026-01-01T00:00:00Z", ["2026-01-02T00:00Z", "2026-01-09T00:00Z", "2026-01-13T00:00Z"]),
        ("0 0 */10 * 5", "2026-01-01T00:00:00Z", ["2026-01-02T00:00Z", "2026-01-09T00:00Z", "2026-01-11T00:00Z"]),
        ("0 0 29 2 *", "2096-03-01T00:00:00Z", ["2104-02-29T00:00Z"]),
        ("@monthly", "2025-12-31T23:59:59Z", ["2026-01-01T00:00Z", "2026-02-01T00:00Z"]),
        ("@every 90s", "2026-01-01T00:00:00Z", ["2026-01-01T00:01Z", "2026-01-01T00:03Z"]),
        ("CRON_TZ=Asia/Shanghai 0 9 * * *", "2026-01-01T00:00:00Z", ["2026-01-01T01:00Z"]),
    ],
)
def test_times(text: str, start: str, expected: list[str]) -> None:
    assert times(text, start, len(expected)) == expected


def test_an_hour_that_clocks_skip_has_no_times() -> None:
    assert times("30 2 * * *", "2025-03-08T12:00:00Z", 2, NEW_YORK) == ["2025-03-10T06:30Z", "2025-03-11T06:30Z"]
    assert times("0 * * * *", "2025-03-09T05:30:00Z", 3, NEW_YORK) == [
        "2025-03-09T06:00Z",
        "2025-03-09T07:00Z",
        "2025-03-09T08:00Z",
    ]


def test_an_hour_that_clocks_repeat_has_them_twice() -> None:
    assert times("30 1 * * *", "2025-11-01T12:00:00Z", 3, NEW_YORK) == [
        "2025-11-02T05:30Z",
        "2025-11-02T06:30Z",
        "2025-11-03T06:30Z",
    ]


def test_a_day_that_does_not_exist_never_comes() -> None:
    schedule = cron.parse("0 0 31 2 *")
    assert schedule.after(at("2026-01-01T00:00:00Z")) is None
    assert schedule.latest(at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z")) is None


FIELDS = st.tuples(
    st.sampled_from(["*", "*/7", "0", "30", "5,50", "58-59"]),
    st.sampled_from(["*", "*/5", "0", "2", "1-3", "23"]),
    st.sampled_from(["*", "1", "9", "*/13", "31"]),
    st.sampled_from(["*", "3", "11", "2-4"]),
    st.sampled_from(["*", "0", "1-5", "6"]),
)
ZONES = st.sampled_from(
    ["UTC", "America/New_York", "Europe/Paris", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata"]
)
MOMENTS = st.datetimes(at("2018-01-01").replace(tzinfo=None), at("2027-01-01").replace(tzinfo=None))


@settings(max_examples=150)
@given(FIELDS, ZONES, MOMENTS)
def test_the_next_time_is_the_first_minute_that_matches(fields, zone: str, moment: datetime.datetime) -> None:
    """Against the definition: minute by minute, what does the clock on the wall show?"""
    schedule = cron.parse(" ".join(fields), cron.zone_of(zone))
    start = moment.replace(tzinfo=datetime.UTC)
    found = schedule.after(start)
    horizon = start + datetime.timedelta(days=3)
    minute = start.replace(second=0, microsecond=0)
    while (minute := minute + MINUTE) <= min(found or horizon, horizon):
        if _matches(schedule, minute):
            break
    assert (minute == found) if found is not None and found <= horizon else not _matches(schedule, minute)


@settings(max_examples=150)
@given(FIELDS, ZONES, MOMENTS, st.integers(1, 10**6))
def test_the_latest_time_has_none_after_it(fields, zone: str, moment: datetime.datetime, seconds: int) -> None:
    schedule = cron.parse(" ".join(fields), cron.zone_of(zone))
    since = moment.replace(tzinfo=datetime.UTC)
    until = since + datetime.timedelta(seconds=seconds)
    latest = schedule.latest(since, until)
    following = schedule.after(latest or since)
    assert latest is None or since < latest <= until
    assert following is None or following > until


def _matches(schedule: cron.Schedule, minute: datetime.datetime) -> bool:
    assert isinstance(schedule, cron.Fields)
    wall = minute.astimezone(schedule.zone)
    days = (wall.day in schedule.day.values, wall.isoweekday() % 7 in schedule.weekday.values)
    day = all(days) if schedule.day.open or schedule.weekday.open else any(days)
    return (
        wall.second == 0
        and day
        and wall.minute in schedule.minute.values
        and wall.hour in schedule.hour.values
        and wall.month in schedule.month.values
    )
