"""Ages as kubectl prints them: at most two units, coarser as they grow. For `vcctl` and the API server's tables."""

from __future__ import annotations

from datetime import datetime

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def human_duration(seconds: float) -> str:
    """`seconds` as "119s", "5m30s", "2h", "3d4h", "1y20d"; "<invalid>" below minus one second."""
    if seconds < -1:
        return "<invalid>"
    total = max(int(seconds), 0)
    if total < 2 * _MINUTE:
        return f"{total}s"
    minutes, hours, days = total // _MINUTE, total // _HOUR, total // _DAY
    if minutes < 10:
        return _pair(minutes, "m", total % _MINUTE, "s")
    if minutes < 3 * 60:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    years = total // _YEAR
    return _pair(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def age(since: datetime | None, now: datetime) -> str:
    """The age of something created at `since`; "<unknown>" when that is not known."""
    return "<unknown>" if since is None else human_duration((now - since).total_seconds())


def _pair(major: int, major_unit: str, minor: int, minor_unit: str) -> str:
    return f"{major}{major_unit}{minor}{minor_unit}" if minor else f"{major}{major_unit}"
