"""Whether nodes went away under their pods, which may run on where nobody looks after them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Final

from volcano.doctor.findings import Facts, Finding, warning
from volcano.kube.complaints import REPEAT_SECONDS

DELETED: Final = "NodeDeleted"
"""The scheduler's reason."""


def check(facts: Facts) -> Iterator[Finding]:
    newest: dict[str, tuple[str, str]] = {}
    for event in facts.of("events"):
        about = event.get("involvedObject") or {}
        if about.get("kind") == "Node" and event.get("reason") == DELETED and event.get("lastTimestamp"):
            found = event["lastTimestamp"], event.get("message", "")
            newest[about["name"]] = max(found, newest.get(about["name"], found))
    for node, (at, message) in sorted(newest.items()):
        if (facts.now - datetime.datetime.fromisoformat(at)).total_seconds() < 2 * REPEAT_SECONDS:
            yield warning(
                f"node {node}", message, f"delete its pods, unless the node is to come back with them ({DELETED})"
            )
