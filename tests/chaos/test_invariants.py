"""The invariants see what they are there for."""

from __future__ import annotations

from typing import Any

from tests.chaos import invariants
from tests.chaos.history import Change
from volcano.api import keys


def pod(
    version: int,
    uid: str,
    node: str = "",
    *,
    job: str = "j",
    phase: str = "Pending",
    gone: bool = False,
    at: float = 0.0,
) -> Change:
    spec: dict[str, Any] = {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}
    if node:
        spec["nodeName"] = node
    metadata = {"name": uid, "uid": uid, "annotations": {keys.JOB_NAME: "j"}}
    return Change(version, at, "pods", False, {"metadata": metadata, "spec": spec, "status": {"phase": phase}})


def test_a_node_is_full() -> None:
    history = [pod(1, "a", "n"), pod(2, "b", "n"), pod(3, "a", "n", phase="Succeeded"), pod(4, "c", "n")]
    assert list(invariants.over_allocated(history, {"n": 2000})) == []
    assert list(invariants.over_allocated(history, {"n": 1000})) == [
        "node n holds 2000 of 1000 milli-CPU at 2",
        "node n holds 2000 of 1000 milli-CPU at 4",
    ]


def test_a_pod_moves() -> None:
    assert list(invariants.bound_twice([pod(1, "a"), pod(2, "a", "n"), pod(3, "a", "m")])) == [
        "pod a was bound to n and to m"
    ]


def test_half_a_gang_for_too_long() -> None:
    history = [pod(1, "a", "n", at=0), pod(2, "a", "n", phase="Running", at=9), pod(3, "b", "n", at=10)]
    assert list(invariants.half_gangs(history, {"j": 2}, patience=10)) == []
    assert list(invariants.half_gangs(history, {"j": 2}, patience=5)) == ["job j held 1 of 2 members for 9 s"]


def test_members_that_are_done_count() -> None:
    history = [
        pod(1, "a", "n", at=0),
        pod(2, "b", "n", at=0),
        pod(3, "a", "n", phase="Succeeded", at=1),
        pod(4, "b", "n", phase="Running", at=90),
    ]
    assert list(invariants.half_gangs(history, {"j": 2}, patience=5)) == []


def test_ends_and_restarts() -> None:
    jobs = {"a": {"status": {"state": {"phase": "Aborted"}, "version": 2}}}
    assert list(invariants.wrong_ends(jobs, {"a": ("Completed",), "b": ("gone",)})) == [
        "job a is Aborted, not Completed"
    ]
    assert list(invariants.disobeyed(jobs, {"a": (1, 1)})) == ["job a was restarted 2 times by 1 to 1 commands"]
    assert list(invariants.disobeyed(jobs, {"a": (1, 2)})) == []


def test_what_is_left_behind() -> None:
    assert list(invariants.orphans({"pods": [{"metadata": {"name": "p"}}]})) == ["pods p is left behind"]
