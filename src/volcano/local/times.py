"""Times as objects carry them, to and from seconds since the epoch. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def timestamp(seconds: float) -> str:
    """RFC 3339 without a fraction, as Kubernetes stores times."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_since_epoch(text: str) -> float:
    """Of a time in RFC 3339; 0 where there is none."""
    return datetime.fromisoformat(text).timestamp() if text else 0.0
