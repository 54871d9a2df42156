"""Time stamps of the API. Pure."""

from __future__ import annotations

from datetime import datetime


def parse_time(text: str | None) -> datetime | None:
    """An RFC 3339 time stamp, or None."""
    return datetime.fromisoformat(text) if text else None
