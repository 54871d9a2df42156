"""Replica sets: how many pods, which to give up, what the status says."""

from __future__ import annotations

from volcano.api.meta import JsonObject
from volcano.local.builtin import scaling
from volcano.local.builtin.expectations import PATIENCE_SECONDS, Expectations
from volcano.local.builtin.views import ConditionView, LabelledMeta, PodSpecView, PodStatusView, PodView

READY = ConditionView(type="Ready", status="True", last_transition_time="1970-01-01T00:00:10Z")


def member(name: str, *, phase: str = "Running", node: str = "n1", ready: bool = True, created: str = "") -> PodView:
    return PodView(
        metadata=LabelledMeta(name=name, namespace="default", uid=name, creation_timestamp=created or None),
        spec=PodSpecView(node_name=node),
        status=PodStatusView(phase=phase, conditions=[READY] if ready else []),
    )


def replica_set(replicas: int | None, **spec: object) -> JsonObject:
    return {"metadata": {"name": "rs", "generation": 2}, "spec": {"replicas": replicas, **spec}}


def test_missing_pods_are_created_and_finished_ones_do_not_count() -> None:
    plan = scaling.plan(replica_set(3), [member("a"), member("b", phase="Failed")])

    assert (plan.create, plan.delete) == (2, [])


def test_no_number_means_one() -> None:
    assert scaling.plan(replica_set(None), []).create == 1


def test_the_least_valuable_pods_go_first() -> None:
    old, young = member("old", created="2026-01-01T00:00:00Z"), member("young", created="2026-01-02T00:00:00Z")
    unplaced, starting = member("unplaced", node="", phase="Pending"), member("starting", phase="Pending", ready=False)
    plan = scaling.plan(replica_set(1), [old, young, unplaced, starting])

    assert [pod.metadata.name for pod in plan.delete] == ["unplaced", "starting", "young"]


def test_the_status_counts_ready_and_available_pods() -> None:
    status, again = scaling.status(replica_set(3, minReadySeconds=20), [member("a"), member("b", ready=False)], 15.0)

    assert status == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 1,
        "availableReplicas": 0,
        "observedGeneration": 2,
    }
    assert again == 15.0


def test_what_was_done_is_not_done_again_until_it_is_seen() -> None:
    expectations = Expectations()
    expectations.created("rs", "default/a", 0.0)
    expectations.deleted("rs", "default/b", 0.0)

    assert not expectations.are_met("rs", {"default/b"}, 1.0)
    expectations.seen("rs", "default/a", is_going=False)
    assert not expectations.are_met("rs", {"default/b"}, 1.0)
    expectations.seen("rs", "default/b", is_going=True)
    assert expectations.are_met("rs", set(), 1.0)


def test_what_is_never_seen_is_written_off() -> None:
    expectations = Expectations()
    expectations.created("rs", "default/a", 0.0)

    assert expectations.are_met("rs", set(), PATIENCE_SECONDS + 1)
