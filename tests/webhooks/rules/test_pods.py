"""Pods: resource groups, gates and disruption budgets, and that most pods cost next to nothing."""

from __future__ import annotations

import time

import pytest

from tests.webhooks.documents import pod, request, world
from volcano.api import keys
from volcano.webhooks.rules import ALLOWED, ResourceGroup, Settings, mutate, review, validate

GPU = ResourceGroup(
    resource_group="gpu",
    object=ResourceGroup.Match(key="namespace", value=("ml",)),
    labels={"pool": "gpu"},
    tolerations=({"key": "gpu", "operator": "Exists"},),
    affinity='{"nodeAffinity": {}}',
    scheduler_name="volcano",
)
BROKEN = ResourceGroup(resource_group="cpu", labels={"pool": "cpu"}, affinity="{not json")


def test_the_first_group_that_matches_sends_the_pod_to_its_nodes():
    answer = mutate(request(pod(namespace="ml")), world(), Settings(resource_groups=(GPU, BROKEN)))

    assert answer.object is not None
    spec = answer.object["spec"]
    assert spec["nodeSelector"] == {"pool": "gpu"}
    assert spec["tolerations"] == [{"key": "gpu", "operator": "Exists"}]


def test_a_group_with_a_broken_affinity_still_applies_without_it():
    chosen = pod(**{keys.RESOURCE_GROUP: "cpu"})

    answer = mutate(request(chosen), world(), Settings(resource_groups=(GPU, BROKEN)))

    assert answer.object is not None
    assert answer.object["spec"] == {"schedulerName": "volcano", "nodeSelector": {"pool": "cpu"}}


def test_without_a_group_file_pods_are_left_alone():
    gated = pod(**{keys.QUEUE_ALLOCATION_GATE: "true"})

    assert mutate(request(gated), world(), Settings(queue_admission_gates=True)) is ALLOWED


def test_a_pod_that_asks_for_it_waits_at_the_gate_of_its_queue():
    gated = pod(**{keys.QUEUE_ALLOCATION_GATE: "true"})

    answer = mutate(request(gated), world(), Settings(queue_admission_gates=True, resource_groups=()))

    gate = {"name": keys.QUEUE_ALLOCATION_GATE}
    assert list(answer.patch) == [{"op": "add", "path": "/spec/schedulingGates", "value": [gate]}]


@pytest.mark.parametrize("value", ["1", "12", "1%", "99%"])
def test_good_budgets(value: str):
    assert validate(request(pod(**{keys.JDB_MIN_AVAILABLE: value})), world(), Settings()).allowed


@pytest.mark.parametrize("value", ["0", "-1", "0%", "100%", "", "%", "1.5", "5%0", "10%%", "many"])
def test_bad_budgets_name_the_annotation(value: str):
    answer = validate(request(pod(**{keys.JDB_MIN_AVAILABLE: value})), world(), Settings())

    assert not answer.allowed
    assert answer.causes[0].field == f"metadata.annotations[{keys.JDB_MIN_AVAILABLE}]"


def test_pods_of_other_schedulers_are_not_judged():
    foreign = pod(scheduler="default-scheduler", **{keys.JDB_MIN_AVAILABLE: "nonsense"})

    assert validate(request(foreign), world(), Settings()).allowed


def test_a_group_named_by_the_second_key_alone_is_taken_with_a_warning():
    def warnings(**annotations: str) -> tuple[str, ...]:
        answer = validate(request(pod(**annotations)), world(), Settings())
        assert answer.allowed
        return answer.warnings

    assert keys.GROUP_NAME in warnings(**{keys.VOLCANO_GROUP_NAME: "g"})[0]
    assert warnings(**{keys.VOLCANO_GROUP_NAME: "g", keys.GROUP_NAME: "g"}) == ()


def test_a_typical_pod_is_judged_in_microseconds():
    asked, seen, settings = request(pod(**{keys.JOB_NAME: "j"})), world(), Settings(resource_groups=())
    rounds = 2000

    best = min(timed(lambda: review(asked, seen, settings), rounds) for _ in range(5))

    assert best / rounds < 30e-6, "expected some 2 µs"


def timed(work: object, rounds: int) -> float:
    assert callable(work)
    started = time.process_time()
    for _ in range(rounds):
        work()
    return time.process_time() - started
