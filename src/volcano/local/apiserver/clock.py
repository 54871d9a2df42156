"""The time stamps that stored objects carry."""

from __future__ import annotations

import time


class WallClock:
    """The machine's time, formatted once per second."""

    def __init__(self) -> None:
        self._second = 0
        self._text = ""

    def timestamp(self, ahead_seconds: int = 0) -> str:
        """Now, or some seconds ahead, in RFC 3339."""
        now = int(time.time())
        if ahead_seconds:
            return _rfc3339(now + ahead_seconds)
        if now != self._second:
            self._second, self._text = now, _rfc3339(now)
        return self._text


def _rfc3339(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
