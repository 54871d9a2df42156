"""overcommit: who is kept out hears what the numbers are, and who holds the room."""

from __future__ import annotations

import pytest

from volcano.scheduler.framework.options import Options
from volcano.scheduler.framework.reasons import Reason
from volcano.scheduler.framework.remedies import remedy
from volcano.testing.builders import Gang, gang, node
from volcano.testing.world import World

CONF = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: overcommit}, {name: predicates}]\n"
NUMBERS = "resource in cluster is overused: overused cpu: "


def stuck(name: str, cpu: int) -> Gang:
    """Admitted; its node does not exist."""
    selector = {"kubernetes.io/hostname": "nowhere"}
    return gang(name, cpu=cpu, node_selector=selector, min_resources={"cpu": cpu}, phase="Inqueue")


def refusal(*jobs: Gang, cpu: int, full_report: bool = True) -> Reason:
    new = gang("new", pods=0, min_available=1, min_resources={"cpu": 1}, phase="Pending", created=9)
    options = Options(full_report=full_report)
    decisions = World(nodes=[node("n1", cpu=cpu)], jobs=[*jobs, new], conf=CONF, options=options).cycle()
    assert decisions.podgroups["default/new"].phase == "Pending"
    reason = decisions.reason("new")
    assert reason is not None
    assert reason.code == "ClusterOverused"
    return reason


def test_who_holds_the_room_and_has_not_started_is_named() -> None:
    reason = refusal(stuck("lost", 2), cpu=2)

    assert reason.amounts == ("3", "2400m")
    assert reason.blocker == "default/lost"
    assert str(reason) == (
        f"{NUMBERS}3 cpu needed, 2400m available (cpu: it asks for 1 and admitted jobs claim 2; "
        "there is 2 times overcommit-factor 1.2); admitted and not started: default/lost (2)"
    )
    assert remedy(reason) == (
        "wait for room, correct or delete what cannot start (default/lost), ask for less (spec.minResources), "
        "or raise overcommit-factor"
    )


def test_of_many_the_three_that_claim_most_are_named() -> None:
    reason = refusal(stuck("b", 2), stuck("a", 2), stuck("c", 1), stuck("d", 3), stuck("e", 1), cpu=8)

    assert reason.blocker == "default/d, default/a, default/b and 2 more"
    assert str(reason).endswith("not started: default/d (3), default/a (2), default/b (2) and 2 more")


def test_one_admitted_in_the_same_cycle_is_named_as_well() -> None:
    late = gang("late", pods=0, min_available=1, min_resources={"cpu": 2}, phase="Pending")

    assert refusal(late, cpu=2).blocker == "default/late"


def test_what_runs_is_no_blocker() -> None:
    running = gang("running", cpu=2, nodes=["n1"], phase="Running", min_resources={"cpu": 2})

    reason = refusal(running, cpu=2)

    assert reason.blocker == ""
    assert str(reason) == (
        f"{NUMBERS}1 cpu needed, 400m available (cpu: it asks for 1; "
        "there is 2 times overcommit-factor 1.2, less 2 in use)"
    )
    assert remedy(reason).startswith("wait for room, ask for less")


@pytest.mark.parametrize("full_report", [True, False])
def test_names_are_sought_only_for_who_asks(full_report: bool) -> None:
    """The text of a podgroup's condition changes as little as may be."""
    reason = refusal(stuck("lost", 2), cpu=2, full_report=full_report)

    assert ("lost" in str(reason)) is full_report
