"""proportion: what queues deserve, and what that lets them do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.plugins.proportion import Proportion
from volcano.scheduler.plugins.proportion.water import fill
from volcano.testing.builders import gang, node, queue
from volcano.testing.world import World

amounts = st.floats(0, 100, allow_nan=False)
queues = st.lists(
    st.tuples(
        st.integers(0, 10), st.tuples(amounts, amounts), st.tuples(amounts, amounts), st.tuples(amounts, amounts)
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=300)
@given(queues, st.tuples(amounts, amounts))
def test_nobody_gets_more_than_asked_for_nor_beyond_the_ceiling(drawn: list, total: tuple) -> None:  # type: ignore[type-arg]
    weights = [weight for weight, *_ in drawn]
    request, guarantee, ceiling = (
        np.array([[*row[column], 0.0] for row in drawn], dtype=np.float64) for column in (1, 2, 3)
    )
    guarantee = np.minimum(guarantee, ceiling)

    deserved = fill(np.array([*total, 0.0]), weights, request, guarantee, ceiling)

    assert (deserved <= np.maximum(np.minimum(request, ceiling), guarantee) + 1e-9).all()
    assert (deserved >= 0).all()
    if not guarantee.any():
        assert (deserved.sum(axis=0) <= np.array([*total, 0.0]) + 1e-6).all()


def test_queues_share_by_weight_and_leave_what_they_do_not_need() -> None:
    world = World(
        nodes=[node("n1", cpu=12)],
        queues=[queue("big", weight=3), queue("small", weight=1), queue("modest", weight=4)],
        jobs=[
            gang("a", pods=12, min_available=1, cpu=1, queue="big"),
            gang("b", pods=12, min_available=1, cpu=1, queue="small"),
            gang("c", pods=2, min_available=1, cpu=1, queue="modest"),
        ],
    )
    session = world.session()
    plugin = session.plugins["proportion"]
    assert isinstance(plugin, Proportion)

    cpus = {name: account.deserved[0] / 1000 for name, account in plugin.accounts.items()}

    assert cpus["modest"] == 2
    assert abs(cpus["big"] - 7.5) < 0.01
    assert abs(cpus["small"] - 2.5) < 0.01
    binds = world.cycle().binds
    assert [sum(name.startswith(f"default/{job}-") for name in binds) for job in "abc"] == [7, 2, 2]


def test_a_job_beyond_the_capability_of_its_queue_waits_and_says_why() -> None:
    world = World(
        nodes=[node("n1", cpu=12)],
        queues=[queue("q", capability={"cpu": 2})],
        jobs=[gang("a", pods=3, cpu=1, queue="q", phase="Pending", min_resources={"cpu": 3})],
    )

    decisions = world.cycle()

    assert decisions.podgroups["default/a"].phase == "Pending"
    assert decisions.reason("a") == Reason(Stage.ENQUEUE, "QueueQuotaExceeded", need=3000.0, have=2000.0, blocker="q")
    text = "queue resource quota insufficient: insufficient cpu"
    assert any(event.message.startswith(text) for event in decisions.events)


def test_a_closed_queue_takes_nothing() -> None:
    world = World(
        nodes=[node("n1", cpu=12)],
        queues=[queue("q", state="Closed")],
        jobs=[gang("a", cpu=1, queue="q", phase="Pending", min_resources={"cpu": 1}), gang("b", cpu=1, queue="q")],
    )

    decisions = world.cycle()

    assert decisions.binds == {}
    reason = decisions.reason("a")
    assert reason is not None
    assert reason.code == "QueueNotOpen"
    assert "'q' is Closed" in reason.message


def test_a_queue_takes_back_what_it_deserves() -> None:
    conf = """
actions: "enqueue, allocate, reclaim"
tiers:
- plugins: [{name: gang}, {name: priority}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""
    world = World(
        nodes=[node("n1", cpu=4)],
        queues=[queue("mine"), queue("theirs")],
        jobs=[
            gang("there", pods=4, min_available=1, cpu=1, queue="theirs", nodes=["n1"] * 4, phase="Running"),
            gang("here", pods=1, cpu=1, queue="mine"),
        ],
        conf=conf,
    )

    decisions = world.cycle()

    assert [eviction.job for eviction in decisions.evictions] == ["default/there"]
    assert decisions.pipelined == {"default/here-worker-0": "n1"}


jobs_drawn = st.lists(
    st.tuples(st.integers(1, 8), st.integers(0, 8), st.integers(1, 4), st.sampled_from("abc"), st.booleans()),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(jobs_drawn, st.integers(0, 12), st.integers(0, 12), st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_no_queue_goes_beyond_its_capability_nor_what_it_deserves(
    drawn: list[tuple[int, int, int, str, bool]], cap_a: int, cap_b: int, sizes: list[int]
) -> None:
    world = World(
        nodes=[node(f"n{i}", cpu=cpu) for i, cpu in enumerate(sizes)],
        queues=[
            queue("a", weight=3, capability={"cpu": cap_a} if cap_a else {}),
            queue("b", capability={"cpu": cap_b} if cap_b else {}),
            queue("c", guarantee={"cpu": 2}),
        ],
        jobs=[
            gang(
                f"g{i}",
                pods=pods,
                min_available=min(least, pods),
                cpu=cpu,
                queue=name,
                phase="Pending" if waits else "Inqueue",
                min_resources={"cpu": cpu * min(least, pods)} if waits else None,
                created=i,
            )
            for i, (pods, least, cpu, name, waits) in enumerate(drawn)
        ],
    )
    deserved = {
        name: account.limit
        for name, account in world.session().plugins["proportion"].accounts.items()  # type: ignore[attr-defined]
    }

    for _ in range(3):
        decisions = world.cycle()

    for name, found in world.cluster.queues.items():
        cap = found.capability.get(0)
        assert cap is None or found.allocated[0] <= cap
        assert found.allocated[0] <= deserved.get(name, found.allocated)[0]
    assert not decisions.binds


@pytest.mark.parametrize(
    ("capability", "code", "blocker"), [(None, "ClusterFull", ""), ({"cpu": 3}, "QueueQuotaExceeded", "default")]
)
def test_a_queue_without_a_limit_of_its_own_is_not_to_blame(
    capability: dict[str, int] | None, code: str, blocker: str
) -> None:
    world = World(
        nodes=[node("n1", cpu=4)],
        queues=[queue("default", capability=capability)],
        jobs=[gang("train", pods=2, cpu="2300m")],
        conf="actions: allocate\ntiers:\n- plugins: [{name: gang}, {name: proportion}, {name: predicates}]\n",
    )

    reason = world.cycle().reason("train")

    assert reason is not None
    assert reason.cause is not None
    assert (reason.cause.code, reason.cause.blocker) == (code, blocker)
    assert reason.cause.amounts == ("4600m", "4" if capability is None else "3")
