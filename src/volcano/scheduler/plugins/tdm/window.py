"""A daily window of time, `HH:MM-HH:MM` in local time; one that ends before it begins runs over midnight."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Final

_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})")
_DAY_SECONDS: Final = 24 * 3600


class WindowError(ValueError):
    """The text is no window; the message says why."""


@dataclass(frozen=True, slots=True)
class Window:
    """Seconds after midnight. `until` is beyond the day's end where the window runs over midnight."""

    since: int
    until: int

    def contains(self, now: float) -> bool:
        local = datetime.datetime.fromtimestamp(now)
        second = local.hour * 3600 + local.minute * 60 + local.second
        return self.since <= second <= self.until or second + _DAY_SECONDS <= self.until


def parse(text: str) -> Window:
    parts = text.strip().split("-")
    if len(parts) != 2:
        raise WindowError(f"revocable zone {text} format error: HH:MM-HH:MM is wanted")
    since, until = (_seconds(part) for part in parts)
    return Window(since, until if since < until else until + _DAY_SECONDS)


def _seconds(text: str) -> int:
    match = _TIME.fullmatch(text)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        raise WindowError(f"{text!r} is not a time of day: HH:MM is wanted, from 0:00 to 23:59")
    return int(match[1]) * 3600 + int(match[2]) * 60
