"""Why a job waits, as `job view` tells it."""

from __future__ import annotations

from typing import Any

import pytest

from volcano.cli.job_view import waiting_lines


def condition(kind: str, reason: str = "", message: str = "", status: str = "True") -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def podgroup(phase: str, *conditions: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "gang-1"}, "status": {"phase": phase, "conditions": list(conditions)}}


def event(name: str, message: str, when: str) -> dict[str, Any]:
    involved = {"kind": "PodGroup", "name": name}
    return {"reason": "Unschedulable", "message": message, "involvedObject": involved, "lastTimestamp": when}


@pytest.mark.parametrize(("phase", "stage"), [("Pending", "enqueue"), ("Inqueue", "allocate")])
def test_the_stage_and_the_newest_reason_are_told(phase: str, stage: str) -> None:
    refused = condition("Unschedulable", "NotEnoughResources", "2/3 tasks in gang unschedulable")
    lines = waiting_lines(podgroup(phase, refused), [])
    assert lines[:2] == ["Waiting:", f"  PodGroup:\tgang-1 ({phase})"]
    assert lines[2].startswith(f"  Stage:   \t{stage}: ")
    assert lines[3:] == ["  Reason:  \tNotEnoughResources", "  Message: \t2/3 tasks in gang unschedulable"]


def test_without_a_condition_the_newest_event_speaks() -> None:
    events = [
        event("gang-1", "old", "2026-01-01T00:00:00Z"),
        event("gang-1", "new", "2026-01-02T00:00:00Z"),
        event("gang-2", "of another", "2026-01-03T00:00:00Z"),
    ]
    assert waiting_lines(podgroup("Pending"), events)[-1] == "  Message: \tnew"


def test_a_job_that_does_not_wait_is_not_said_to() -> None:
    refused = condition("Unschedulable", "NotEnoughResources", "2/3 tasks in gang unschedulable")
    assert waiting_lines(podgroup("Pending"), []) == []
    assert waiting_lines(podgroup("Running", refused, condition("Scheduled")), []) == []
