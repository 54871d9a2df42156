"""Silent nodes and their taints."""

from __future__ import annotations

import pytest

from volcano.api.meta import JsonObject
from volcano.local.builtin.nodehealth import is_silent, unknown_conditions, wanted_taints


def node(ready: str, *taints: tuple[str, str], unschedulable: bool = False) -> JsonObject:
    return {
        "metadata": {"name": "n1"},
        "spec": {"unschedulable": unschedulable, "taints": [{"key": key, "effect": effect} for key, effect in taints]},
        "status": {"conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "then"}]},
    }


def test_silence_is_measured_against_the_lease_and_at_least_40_seconds() -> None:
    assert not is_silent(10, 0.0, 39.0)
    assert is_silent(10, 0.0, 41.0)
    assert not is_silent(3600, 0.0, 3000.0)
    assert is_silent(None, 0.0, 41.0)


def test_conditions_of_a_silent_node_become_unknown_once() -> None:
    conditions = unknown_conditions(node("True"), "now")

    assert conditions[0]["status"] == "Unknown"
    assert conditions[0]["lastTransitionTime"] == "now"
    document = node("True")
    document["status"]["conditions"] = conditions
    assert unknown_conditions(document, "later") == conditions


@pytest.mark.parametrize(
    ("document", "keys"),
    [
        (node("True"), []),
        (node("True", ("node.kubernetes.io/not-ready", "NoSchedule"), ("mine", "NoSchedule")), ["mine"]),
        (node("False"), ["node.kubernetes.io/not-ready"] * 2),
        (node("Unknown"), ["node.kubernetes.io/unreachable"] * 2),
        (node("True", unschedulable=True), ["node.kubernetes.io/unschedulable"]),
        (node("True", ("node.kubernetes.io/unschedulable", "NoSchedule")), []),
    ],
)
def test_taints_follow_readiness_and_cordons(document: JsonObject, keys: list[str]) -> None:
    assert [taint["key"] for taint in wanted_taints(document, "now")] == keys
