"""What is worth an event."""

from __future__ import annotations

from typing import Any

from volcano.api.meta import JsonObject
from volcano.local.node.news import warnings


def status(state: JsonObject, **more: Any) -> JsonObject:
    return {"containerStatuses": [{"name": "main", "state": state}], **more}


def test_trouble_is_told_once() -> None:
    waiting = status({"waiting": {"reason": "CreateContainerConfigError", "message": "no map"}})

    assert warnings({}, waiting) == [("Failed", "Error: no map")]
    assert warnings(waiting, waiting) == []


def test_ordinary_states_are_no_news() -> None:
    for state in (
        {"running": {}},
        {"waiting": {"reason": "ContainerCreating"}},
        {"terminated": {"reason": "Completed"}},
        {"terminated": {"reason": "Error", "exitCode": 3}},
    ):
        assert warnings({}, status(state)) == []


def test_back_offs_failed_starts_and_refusals() -> None:
    back_off = status({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}})
    start = status({"terminated": {"reason": "StartError", "message": "not found"}})
    refused = {"phase": "Failed", "reason": "OutOfcpu", "message": "too big"}

    assert warnings(status({"running": {}}), back_off) == [("BackOff", "back-off 10s")]
    assert warnings({}, start) == [("StartError", "not found")]
    assert warnings({}, refused) == [("OutOfcpu", "too big")]
