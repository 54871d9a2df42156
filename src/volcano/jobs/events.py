"""Events about jobs and other objects, for people. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from volcano.api.meta import JsonObject


def about(event: JsonObject, kind: str, name: str) -> bool:
    """Whether the event is about that object; for a job also about its podgroup and its pods."""
    target = event.get("involvedObject") or {}
    if (target.get("kind"), target.get("name")) == (kind, name):
        return True
    if kind != "Job" or target.get("kind") not in ("Pod", "PodGroup"):
        return False
    if target["kind"] == "PodGroup":
        return target.get("name", "") == name or bool(
            re.fullmatch(rf"{re.escape(name)}-[0-9a-f-]{{36}}", target["name"])
        )
    return bool(re.fullmatch(rf"{re.escape(name)}-.+-\d+", target.get("name", "")))


def in_order(events: Iterable[JsonObject]) -> list[JsonObject]:
    """The oldest first."""
    return sorted(events, key=lambda event: (last_seen(event) or "", event["metadata"].get("name", "")))


def last_seen(event: JsonObject) -> str | None:
    """When it happened last."""
    series = (event.get("series") or {}).get("lastObservedTime")
    written = event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp")
    return str(series or written) if series or written else None


def count(event: JsonObject) -> int:
    """How often it happened."""
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)
