"""Why pods failed, as told to their owner."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from volcano.api import keys
from volcano.jobs.failures import SHOWN, cause, causes, failure_lines, stuck_lines
from volcano.kube.client import Client, Listing


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


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"reason": "DeadlineExceeded"}, "DeadlineExceeded"),
        ({"containerStatuses": [ended("good", exitCode=0), ended("bad", exitCode=3, reason="Error")]}, "exit 3"),
        ({"containerStatuses": [ended("c", exitCode=137, reason="OOMKilled")]}, "OOMKilled"),
        ({"initContainerStatuses": [ended("first", exitCode=7)]}, "exit 7"),
        ({}, "exit ?"),
    ],
)
def test_a_column_has_room_for_a_word(status: dict[str, Any], word: str) -> None:
    assert cause(status) == word


class Pods:
    """The pods of a cluster, which counts who asks for them."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        self._pods = list(pods)
        self.asked = 0

    async def list(self, *_: object) -> Listing[dict[str, Any]]:
        self.asked += 1
        return Listing(self._pods, "1")


def job(name: str, phase: str, reason: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns"}, "status": {"state": {"phase": phase, "reason": reason}}}


@pytest.mark.parametrize("own", ["", "RetriesUsedUp"])
def test_jobs_that_failed_by_their_pods_have_the_reason_of_one(own: str) -> None:
    failed = pod("a-0", reason="Evicted")
    failed["metadata"] |= {"namespace": "ns", "annotations": {keys.JOB_NAME: "a"}}
    pods = Pods(failed)
    jobs = [job("a", "Failed", own), job("b", "Failed", "MaxRetries"), job("c", "Completed")]
    assert asyncio.run(causes(cast("Client", pods), jobs, "ns")) == {("ns", "a"): "Evicted"}


def test_pods_are_not_asked_for_where_every_failure_has_its_reason() -> None:
    pods = Pods()
    assert asyncio.run(causes(cast("Client", pods), [job("b", "Failed", "MaxRetries")], None)) == {}
    assert pods.asked == 0
