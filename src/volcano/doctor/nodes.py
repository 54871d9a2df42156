"""Whether nodes went away under their pods, which may run on where nobody looks after them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import Final

from volcano.api.meta import JsonObject
from volcano.doctor.findings import Facts, Finding, warning
from volcano.kube.complaints import REPEAT_SECONDS

DELETED: Final = "NodeDeleted"
"""The scheduler's reason."""


def gone(events: Iterable[JsonObject], now: datetime.datetime) -> dict[str, tuple[datetime.datetime, str]]:
    """The nodes that were deleted with pods on them lately: when, and what was said, by name."""
    newest: dict[str, tuple[datetime.datetime, str]] = {}
    for event in events:
        about = event.get("involvedObject") or {}
        if about.get("kind") == "Node" and event.get("reason") == DELETED and event.get("lastTimestamp"):
            at = datetime.datetime.fromisoformat(event["lastTimestamp"])
            if (now - at).total_seconds() < 2 * REPEAT_SECONDS:
                found = at, event.get("message", "")
                newest[about["name"]] = max(found, newest.get(about["name"], found))
    return newest


def check(facts: Facts) -> Iterator[Finding]:
    for node, (at, message) in sorted(gone(facts.of("events"), facts.now).items()):
        if "pods" in facts.unseen or any(_is_left(pod, node, at) for pod in facts.of("pods")):
            problem = message.removeprefix(f"node {node} ")
            yield warning(
                f"node {node}", problem, f"delete its pods, unless the node is to come back with them ({DELETED})"
            )


def _is_left(pod: JsonObject, node: str, at: datetime.datetime) -> bool:
    """Whether the pod was on the node when that was deleted, and has not ended. The node may be back with others."""
    if pod["spec"].get("nodeName") != node or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    return datetime.datetime.fromisoformat(pod["metadata"]["creationTimestamp"]) <= at
