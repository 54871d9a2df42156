"""Durations are read and written as Go does."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from volcano.api import duration
from volcano.api.duration import DurationError


@pytest.mark.parametrize(
    ("text", "expected", "printed"),
    [
        ("1h30m", timedelta(hours=1, minutes=30), "1h30m0s"),
        ("10s", timedelta(seconds=10), "10s"),
        ("1.5s", timedelta(seconds=1.5), "1.5s"),
        ("90s", timedelta(seconds=90), "1m30s"),
        ("300ms", timedelta(milliseconds=300), "300ms"),
        ("1.5ms", timedelta(microseconds=1500), "1.5ms"),
        ("7us", timedelta(microseconds=7), "7µs"),
        ("0", timedelta(), "0s"),
        ("-1m", timedelta(minutes=-1), "-1m0s"),
        (".5h", timedelta(minutes=30), "30m0s"),
        ("720h", timedelta(days=30), "720h0m0s"),
    ],
)
def test_reading_and_writing(text: str, expected: timedelta, printed: str) -> None:
    assert duration.parse(text) == expected
    assert duration.format(expected) == printed


@pytest.mark.parametrize("text", ["", "10", "s", "1d", "1h 30m", "1.2.3s", "+-1s", "h1", "."])
def test_what_is_no_duration_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(DurationError, match="invalid duration"):
        duration.parse(text)


@given(st.integers(-(10**18), 10**18))
def test_what_is_printed_means_the_same(nanoseconds: int) -> None:
    assert duration.parse_nanoseconds(duration.format_nanoseconds(nanoseconds)) == nanoseconds
