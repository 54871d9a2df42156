"""What a supervisor does next: starts, restarts with back-off, order of init containers, the end."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.local.node.pods import container_plan, pod_plan
from volcano.local.node.supervisor import lifecycle
from volcano.local.node.supervisor.documents import ContainerPlan, Exit, PodPlan, PodReport, new_pod_report


def exited(code: int, *, started: float = 0.0, finished: float = 1.0) -> Exit:
    return {
        "code": code,
        "signal": 0,
        "reason": "Error" if code else "Completed",
        "message": "",
        "started_at": started,
        "finished_at": finished,
    }


class Story:
    """A pod's report as its containers start and end."""

    def __init__(self, plan: PodPlan) -> None:
        self.plan = plan
        self.report: PodReport = new_pod_report(plan)

    def decide(self, now: float = 0.0) -> lifecycle.Decision:
        return lifecycle.decide(self.plan, self.report, now)

    def container(self, name: str) -> ContainerPlan:
        return next(c for c in (*self.plan["init"], *self.plan["containers"]) if c["name"] == name)

    def due(self, now: float = 0.0) -> list[str]:
        return [container["name"] for container in self.decide(now).start]

    def start(self, name: str, now: float = 0.0) -> None:
        container, state = self.container(name), self.report["containers"][name]
        self.report["containers"][name] = lifecycle.started(container, state, 1, "b", now)

    def end(self, name: str, code: int, *, started: float = 0.0, finished: float = 1.0) -> None:
        container = self.container(name)
        exit_ = exited(code, started=started, finished=finished)
        state = self.report["containers"][name]
        self.report["containers"][name] = lifecycle.ended(self.plan, container, state, exit_)


def test_all_containers_start_together() -> None:
    story = Story(pod_plan(container_plan(name="a"), container_plan(name="b")))

    assert story.due() == ["a", "b"]


def test_init_containers_run_one_after_the_other_before_the_rest() -> None:
    story = Story(pod_plan(container_plan(name="main"), init=(container_plan(name="i1"), container_plan(name="i2"))))

    assert story.due() == ["i1"]
    story.start("i1")
    assert story.due() == []
    story.end("i1", 0)
    assert story.due(1) == ["i2"]
    story.start("i2")
    story.end("i2", 0)
    assert story.due(1) == ["main"]


def test_a_failed_init_container_ends_a_pod_that_never_restarts() -> None:
    story = Story(pod_plan(container_plan(name="main"), init=(container_plan(name="i1"),)))
    story.start("i1")
    story.end("i1", 1)

    assert story.decide(1).finished


def test_a_sidecar_starts_first_runs_beside_the_rest_and_is_stopped_at_the_end() -> None:
    sidecar = container_plan(name="proxy", sidecar=True, restart="Always")
    story = Story(pod_plan(container_plan(name="main"), init=(sidecar,)))

    assert story.due() == ["proxy"]
    story.start("proxy")
    assert story.due() == ["main"]
    story.start("main")
    story.end("proxy", 1)
    assert story.due(1) == ["proxy"]
    story.start("proxy")
    story.end("main", 0)
    assert story.decide(2).stop == "Completed"


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [("Always", 0, True), ("Always", 1, True), ("OnFailure", 0, False), ("OnFailure", 3, True), ("Never", 3, False)],
)
def test_the_restart_policy_decides_whether_a_container_runs_again(
    policy: Literal["Always", "OnFailure", "Never"], code: int, again: bool
) -> None:
    story = Story(pod_plan(container_plan(name="a", restart=policy)))
    story.start("a")
    story.end("a", code)

    assert (story.due(1) == ["a"]) is again
    assert story.decide(1).finished is not again


def test_back_off_starts_at_once_then_doubles_up_to_the_cap() -> None:
    story = Story(pod_plan(container_plan(name="a", restart="Always")))
    waits = []
    for _ in range(8):
        story.start("a")
        story.end("a", 1, finished=1.0)
        waits.append((story.report["containers"]["a"]["retry_at"] or 0) - 1.0)

    assert waits == [0, 10, 20, 40, 80, 160, 300, 300]
    assert story.report["containers"]["a"]["restarts"] == 7


def test_a_long_run_starts_the_back_off_anew() -> None:
    story = Story(pod_plan(container_plan(name="a", restart="Always")))
    for _ in range(4):
        story.start("a")
        story.end("a", 1)
    story.start("a")
    story.end("a", 1, started=100, finished=100 + lifecycle.STEADY_SECONDS)

    assert story.report["containers"]["a"]["retry_at"] == 100 + lifecycle.STEADY_SECONDS


def test_the_next_wake_up_is_the_first_container_out_of_back_off() -> None:
    story = Story(pod_plan(container_plan(name="a", restart="Always")))
    for _ in range(2):
        story.start("a")
        story.end("a", 1, finished=50.0)

    assert lifecycle.next_retry(story.report, 50.0) == 60.0
    assert story.due(59.9) == []
    assert story.due(60.0) == ["a"]


def test_a_back_off_is_postponed_with_the_clock() -> None:
    story = Story(pod_plan(container_plan(name="a", restart="Always"), container_plan(name="b")))
    for _ in range(2):
        story.start("a")
        story.end("a", 1, finished=50.0)
    story.report = lifecycle.postponed(story.report, 3600.0)

    assert lifecycle.next_retry(story.report, 3650.0) == 3660.0
    assert story.due(3659.9) == ["b"]


def test_a_stopping_pod_starts_nothing_and_finishes_when_nothing_runs() -> None:
    story = Story(pod_plan(container_plan(name="a", restart="Always")))
    story.start("a")
    story.report["stopping"] = "Deleted"

    assert story.decide() == lifecycle.Decision()
    story.end("a", 143)
    assert story.decide(1) == lifecycle.Decision(finished=True)


def test_the_run_before_is_remembered() -> None:
    story = Story(pod_plan(container_plan(name="a", restart="OnFailure")))
    story.start("a")
    story.end("a", 7)
    story.start("a", 2.0)

    state = story.report["containers"]["a"]
    assert state["last"] is not None
    assert state["last"]["code"] == 7
    assert (state["exit"], state["restarts"], state["state"]) == (None, 1, "running")
