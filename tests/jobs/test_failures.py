"""Why pods failed, as told to their owner."""

from __future__ import annotations

from typing import Any

from volcano.jobs.failures import SHOWN, failure_lines, stuck_lines


def pod(name: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"phase": "Failed", **status}}


def ended(name: str, **terminated: Any) -> dict[str, Any]:
    return {"name": name, "state": {"terminated": terminated}}


def test_nothing_is_said_when_nothing_failed() -> None:
    assert failure_lines([]) == []


def test_the_pods_own_reason_comes_before_its_containers() -> None:
    failed = pod("a", reason="Evicted", message="the node was drained", containerStatuses=[ended("c", exitCode=137)])
    assert failure_lines([failed]) == ["Failed pods:", "  a:\tEvicted: the node was drained"]


def test_containers_that_failed_are_named_with_their_exit_status() -> None:
    statuses = [ended("good", exitCode=0), ended("bad", exitCode=3, reason="Error"), ended("worse", exitCode=137)]
    assert failure_lines([pod("a", containerStatuses=statuses)]) == [
        "Failed pods:",
        "  a:\tcontainer 'bad' ended with exit status 3 (Error); container 'worse' ended with exit status 137 (Error)",
    ]


def test_a_long_list_is_cut() -> None:
    lines = failure_lines([pod(f"p-{index:02d}", reason="Error") for index in range(SHOWN + 2)])
    assert len(lines) == SHOWN + 2
    assert lines[1].startswith("  p-00:")
    assert lines[-1] == "  and 2 more"


def test_a_container_that_crashes_again_and_again_is_told_with_its_last_end() -> None:
    crashing = ended("c", exitCode=7, reason="Error")
    crashing = {"name": "c", "lastState": crashing["state"], "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    starting = {"name": "d", "state": {"waiting": {"reason": "ContainerCreating"}}}
    assert stuck_lines([pod("a", containerStatuses=[crashing, starting])]) == [
        "Pods that do not get on:",
        "  a:\tcontainer 'c' waits: CrashLoopBackOff; container 'c' ended with exit status 7 (Error)",
    ]
