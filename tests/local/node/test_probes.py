"""Probes and hooks: from specs to plans, and what results add up to."""

from __future__ import annotations

import pytest

from tests.local.node.pods import container
from volcano.local.node.actions import hook_plan, probe_plans
from volcano.local.node.sources import PlanError
from volcano.local.node.supervisor.documents import ProbePlan
from volcano.local.node.supervisor.probes import Track


def plan(**more: float) -> ProbePlan:
    base = probe_plans(container("true", livenessProbe={"exec": {"command": ["true"]}}), "127.1.2.3")["liveness"]
    return {**base, **more}  # type: ignore[typeddict-item]


def test_a_probe_has_the_defaults_of_kubernetes() -> None:
    assert plan() == {
        "action": {
            "kind": "exec",
            "argv": ["true"],
            "host": "127.1.2.3",
            "port": 0,
            "path": "/",
            "scheme": "HTTP",
            "headers": [],
            "seconds": 1.0,
        },
        "initial_delay": 0.0,
        "period": 10.0,
        "timeout": 1.0,
        "success_threshold": 1,
        "failure_threshold": 3,
    }


def test_named_ports_are_looked_up() -> None:
    main = container(
        "true",
        ports=[{"name": "web", "containerPort": 8080}],
        readinessProbe={"httpGet": {"port": "web", "path": "/up"}},
        startupProbe={"tcpSocket": {"port": 9}},
    )
    plans = probe_plans(main, "127.1.2.3")

    assert (plans["readiness"]["action"]["port"], plans["readiness"]["action"]["path"]) == (8080, "/up")
    assert (plans["startup"]["action"]["kind"], plans["startup"]["action"]["port"]) == ("tcp", 9)
    with pytest.raises(PlanError, match="no port is named 'admin'"):
        probe_plans(container("true", livenessProbe={"tcpSocket": {"port": "admin"}}), "127.1.2.3")


def test_hooks() -> None:
    main = container("true", lifecycle={"preStop": {"sleep": {"seconds": 3}}})

    assert hook_plan(main, "postStart", "127.1.2.3") is None
    action = hook_plan(main, "preStop", "127.1.2.3")
    assert action is not None
    assert (action["kind"], action["seconds"]) == ("sleep", 3.0)


def test_a_verdict_turns_after_enough_results_in_a_row() -> None:
    track = Track(plan(success_threshold=2, failure_threshold=3, initial_delay=5.0), 100.0)

    assert track.next_at == 105.0
    assert [track.observe(ok, 200.0) for ok in (True, False, True, True, True)] == [False, False, False, True, False]
    assert [track.observe(ok, 200.0) for ok in (False, False, True, False, False, False)] == [False] * 5 + [True]
    assert (track.verdict, track.next_at) == (False, 210.0)
