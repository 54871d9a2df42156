"""Durations as Go writes them ("1h30m", "10s", "1.5s"), the form every Volcano field and flag uses."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

_NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # micro sign
    "μs": 10**3,  # Greek mu
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_MOST: Final = 2**63 - 1
_LONGEST: Final = 256
_WHOLE: Final = re.compile(rf"([+-]?)((?:{_PART.pattern})+|0)")


class DurationError(ValueError):
    """The text is not a duration."""


def parse(text: str) -> timedelta:
    """The duration that `text` says, to the microsecond."""
    return timedelta(microseconds=parse_nanoseconds(text) / 1000)


def parse_seconds(text: str) -> float:
    return parse_nanoseconds(text) / 10**9


def parse_nanoseconds(text: str) -> int:
    match = _WHOLE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        shown = text[:_LONGEST]
        raise DurationError(
            f"time: invalid duration {shown!r}: expected numbers with units, for example 300ms, 10s, 1h30m"
        )
    total = sum(_nanoseconds(number, unit) for number, unit in _PART.findall(match[2]))
    if total > _MOST:
        raise DurationError(f"time: invalid duration {text!r}: more than {_MOST // _NANOSECONDS['h']} hours")
    return -total if match[1] == "-" else total


def format(value: timedelta) -> str:  # noqa: A001 - reads duration.format(...)
    """`value` the way Go prints it: "1h0m0s", "1.5s", "20ms", "0s"."""
    return format_nanoseconds((value.days * 86400 + value.seconds) * 10**9 + value.microseconds * 1000)


def format_nanoseconds(value: int) -> str:
    sign, rest = ("-", -value) if value < 0 else ("", value)
    if rest < 10**9:
        return sign + _below_a_second(rest)
    minutes, nanoseconds = divmod(rest, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(nanoseconds, 9)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else sign + seconds


def _nanoseconds(number: str, unit: str) -> int:
    whole, _, fraction = number.partition(".")
    scale = _NANOSECONDS[unit]
    return int(whole or 0) * scale + int(fraction or 0) * scale // int(10 ** len(fraction))


def _below_a_second(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    if nanoseconds < 10**3:
        return f"{nanoseconds}ns"
    if nanoseconds < 10**6:
        return f"{_decimal(nanoseconds, 3)}µs"
    return f"{_decimal(nanoseconds, 6)}ms"


def _decimal(value: int, digits: int) -> str:
    whole, fraction = divmod(value, 10**digits)
    return f"{whole}.{fraction:0{digits}d}".rstrip("0") if fraction else str(whole)
