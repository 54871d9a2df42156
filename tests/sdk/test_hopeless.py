"""Jobs that no amount of patience can start, and jobs that only have to wait."""

from __future__ import annotations

from typing import Any

from volcano.sdk import hopeless


def job(*, cpu: str, members: int = 1, minimum: int = 1) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
    return {
        "metadata": {"name": "train"},
        "spec": {"minAvailable": minimum, "tasks": [{"name": "t", "replicas": members, "template": template}]},
    }


def node(cpu: str) -> dict[str, Any]:
    return {"status": {"allocatable": {"cpu": cpu, "memory": "8Gi"}}}


def test_a_member_larger_than_any_node() -> None:
    error = hopeless.too_large_for_nodes(job(cpu="3"), [node("2"), node("1")])
    assert error is not None
    assert error.reason == {
        "stage": "predicate",
        "code": "LargerThanAnyNode",
        "resource": "cpu",
        "need": "3",
        "have": "2",
    }
    assert "a member asks for cpu 3, and the largest of 2 nodes has 2" in str(error)


def test_a_member_that_fits_an_empty_node_may_wait() -> None:
    assert hopeless.too_large_for_nodes(job(cpu="2"), [node("2")]) is None
    assert hopeless.too_large_for_nodes(job(cpu="2"), []) is None


def test_a_gang_larger_than_the_cluster() -> None:
    error = hopeless.too_large_for_cluster(job(cpu="2", members=3, minimum=3), [node("3"), node("3")])
    assert error is not None
    assert (error.reason["need"], error.reason["have"]) == (3, 2)
    assert hopeless.too_large_for_cluster(job(cpu="2", members=3, minimum=2), [node("3"), node("3")]) is None


def test_a_gang_larger_than_its_queue() -> None:
    queue = {"metadata": {"name": "small"}, "spec": {"capability": {"cpu": "3"}}}
    error = hopeless.too_large_for_queue(job(cpu="2", members=2, minimum=2), queue)
    assert error is not None
    assert error.reason["blocker"] == "small"
    assert hopeless.too_large_for_queue(job(cpu="2", members=2, minimum=1), queue) is None


def test_a_job_that_waits_for_one_that_failed() -> None:
    waiting = job(cpu="1")
    waiting["status"] = {"state": {"reason": "Dependency", "message": "job a has not ended"}}
    assert hopeless.held(waiting) == {"stage": "dependency", "code": "Dependency", "message": "job a has not ended"}
    assert hopeless.held(job(cpu="1")) is None
