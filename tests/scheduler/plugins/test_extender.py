"""extender: what a service is asked, what its answers do, and what happens when there is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from volcano.api.core import Pod
from volcano.scheduler.plugins.extender.port import ExtenderError, ExtenderPort
from volcano.testing.builders import gang, node, pod
from volcano.testing.world import World

CONF = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: extender, arguments: {extender.urlPrefix: "http://e/v1/", %s}}]
"""


class Service:
    """Answers by verb; a verb without an answer fails."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[str, Any]] = []

    def post(self, url: str, body: bytes, _timeout_seconds: float) -> bytes:
        verb = url.removeprefix("http://e/v1/")
        request = json.loads(body)
        self.asked.append((verb, request))
        if verb not in self.answers:
            raise ExtenderError(f"{url}: refused")
        answer = self.answers[verb]
        return json.dumps(answer(request) if callable(answer) else answer).encode()


def world_of(service: Service | None, arguments: str, pods: list[Pod] | None = None) -> World:
    pods = pods or [pod("p", group="g", cpu=1)]
    world = World(nodes=[node("n1"), node("n2")], jobs=[gang("g", pods=pods)], conf=CONF % arguments)
    if service is not None:
        world.cluster.index(ExtenderPort).post = service.post
    return world


def test_a_predicate_refuses_nodes_in_its_own_words() -> None:
    service = Service(check=lambda request: {"status": "too hot" if request["node"]["Name"] == "n1" else ""})
    world = world_of(service, "extender.predicateVerb: check")

    assert world.cycle().binds == {"default/p": "n2"}

    _, request = service.asked[0]
    assert request["task"]["Resreq"] == {"MilliCPU": 1000.0, "Memory": 0.0, "ScalarResources": None, "MaxTaskNum": 0}
    assert request["task"]["Status"] == 1


def test_scores_choose_the_node() -> None:
    service = Service(rank={"nodeScore": {"n2": 7.5}})

    assert world_of(service, "extender.prioritizeVerb: rank").cycle().binds == {"default/p": "n2"}


@pytest.mark.parametrize(("ignorable", "bound"), [("true", 1), ("false", 0)])
def test_a_silent_service_counts_or_not(ignorable: str, bound: int) -> None:
    world = world_of(Service(), f"extender.predicateVerb: check, extender.ignorable: {ignorable}")

    decisions = world.cycle()

    assert len(decisions.binds) == bound
    assert any("http://e/v1/check: refused" in warning for warning in decisions.warnings)


def test_a_service_that_cannot_be_told_of_a_session_is_left_alone() -> None:
    service = Service()
    world = world_of(service, "extender.onSessionOpenVerb: open, extender.predicateVerb: check")

    assert len(world.cycle().binds) == 1
    assert [verb for verb, _ in service.asked] == ["open"]


def test_only_pods_with_managed_resources_are_asked_about() -> None:
    service = Service()
    world = world_of(service, "extender.predicateVerb: check, extender.managedResources: [example.com/fpga]")

    assert len(world.cycle().binds) == 1
    assert service.asked == []


def test_an_event_that_is_refused_undoes_the_placement() -> None:
    service = Service(take={"errorMessage": "no licence"}, back={})
    world = world_of(service, "extender.allocateFuncVerb: take, extender.deallocateFuncVerb: back")

    assert world.cycle().binds == {}
    assert [verb for verb, _ in service.asked][-2:] == ["take", "back"]


def test_queues_and_jobs_are_asked_about() -> None:
    service = Service(full={"overused": True}, enter={"status": -1})
    arguments = "extender.queueOverusedVerb: full, extender.jobEnqueueableVerb: enter"
    session = world_of(service, arguments).session()
    plugin, job = session.plugins["extender"], next(iter(session.jobs.values()))

    assert plugin.overused(session.queues["default"]) is True
    assert plugin.job_enqueueable(job) == -1
    assert plugin.job_ready(job) is True
    session.restore()


def test_victims_are_chosen_by_uid() -> None:
    service = Service(who=lambda request: {"status": 1, "victims": [{"UID": request["evictees"][1]["UID"]}]})
    pods = [pod(f"p{i}", group="g", cpu=1) for i in range(3)]
    session = world_of(service, "extender.preemptableVerb: who", pods).session()
    claimant, *candidates = session.cluster.tasks.values()

    assert session.plugins["extender"].preemptable(claimant, candidates) == [candidates[1]]
    session.restore()


def test_offline_nobody_is_asked() -> None:
    decisions = world_of(None, "extender.predicateVerb: check").cycle()

    assert decisions.binds == {}
    assert any("only the scheduler's daemon calls services" in warning for warning in decisions.warnings)
