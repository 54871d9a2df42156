"""Random worlds of devices: nothing is given away beyond what there is, and undoing restores every card."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings, strategies as st

from tests.scheduler.plugins.test_deviceshare import CONF, GPU_MEMORY, HAMI, VGPU, gpu_node, npu_node, user, vgpu_node
from volcano.api import keys
from volcano.scheduler.plugins.deviceshare.ledger import DeviceLedger
from volcano.scheduler.plugins.deviceshare.vgpu import Cards
from volcano.testing.builders import gang, priority_class
from volcano.testing.world import World

PREEMPTING = CONF.replace('"allocate"', '"allocate, preempt"').replace(
    "- name: gang", "- name: gang\n  - name: priority"
) % ("deviceshare.GPUSharingEnable: true")

limits = st.fixed_dictionaries(
    {
        keys.VGPU_NUMBER: st.integers(1, 2),
        keys.VGPU_MEMORY: st.sampled_from([500, 4000, 9000]),
        keys.VGPU_CORES: st.sampled_from([0, 25, 60, 100]),
    }
)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(limits, st.integers(1, 3), st.booleans()), min_size=1, max_size=6),
    st.integers(1, 3),
    st.sampled_from(["binpack", "spread", ""]),
)
def test_no_card_is_overdrawn(jobs: list[tuple[dict[str, Any], int, bool]], nodes: int, policy: str) -> None:
    conf = VGPU.replace("binpack", policy or "none")
    world = World(nodes=[vgpu_node(f"n{i}", memory=10000, sharers=3) for i in range(nodes)], conf=conf)
    for number, (wanted, pods, exclusive) in enumerate(jobs):
        labels = {"app": "training"} if exclusive else {}
        members = [user(f"j{number}-{i}", wanted, labels=labels) for i in range(pods)]
        for member in members:
            member.metadata.annotations[keys.GROUP_NAME] = f"j{number}"
        world.add_gang(gang(f"j{number}", pods=members))

    world.cycle()
    world.session().restore()

    for row in range(nodes):
        cards = world.cluster.index(DeviceLedger).at(row)["hamivgpu"]
        assert isinstance(cards, Cards)
        for card in cards.cards:
            assert 0 <= card.memory_used <= card.memory
            assert 0 <= card.cores_used <= 100
            assert 0 <= card.sharers <= card.max_sharers
            assert sum(bool(cards._rules.get(uid)) for uid in card.holders) <= 1


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=8), st.integers(1, 3))
def test_an_undone_statement_leaves_every_card_as_it_was(amounts: list[int], cards: int) -> None:
    pods = [user(f"p{i}", {keys.GPU_MEMORY: amount}) for i, amount in enumerate(amounts)]
    world = World(nodes=[gpu_node("n", cards=cards)], jobs=[gang("g", pods=pods)], conf=GPU_MEMORY)
    session = world.session()
    ledger = world.cluster.index(DeviceLedger)
    before = copy.deepcopy(ledger.at(0))
    statement = session.statement()

    for task in list(session.cluster.tasks.values()):
        statement.allocate([task], [0])
    statement.rollback()

    assert vars(ledger.at(0)["GpuShare"]) == vars(before["GpuShare"])
    assert ledger.grants == {}
    session.restore()


def test_an_eviction_gives_cards_away_and_its_undoing_takes_them_back_once() -> None:
    running = user("old", {keys.GPU_MEMORY: 900}, annotations={keys.GPU_INDEX: "0"})
    running.spec.node_name, running.status.phase = "n", "Running"
    world = World(nodes=[gpu_node("n", cards=1)], jobs=[gang("g", pods=[running])], conf=GPU_MEMORY)
    session = world.session()
    cards: Any = world.cluster.index(DeviceLedger).at(0)["GpuShare"]
    statement = session.statement()

    statement.evict(list(session.cluster.tasks.values()), "test")
    assert cards.idle() == {0: 1000}
    statement.rollback()

    assert cards.idle() == {0: 100}
    session.restore()


def test_a_claimant_evicts_for_a_card_where_the_node_has_room_enough() -> None:
    """600 of 1000 are taken on each of two cards: 800 are idle, but 700 are on no card."""
    running = [user(f"old{card}", {keys.GPU_MEMORY: 600}, annotations={keys.GPU_INDEX: str(card)}) for card in (0, 1)]
    for member in running:
        member.spec.node_name, member.status.phase = "n", "Running"
        member.metadata.annotations[keys.GROUP_NAME] = "low"
    claimant = user("new", {keys.GPU_MEMORY: 700})
    claimant.metadata.annotations[keys.GROUP_NAME] = "high"
    claimant.spec.priority = 100
    low, high = gang("low", pods=running, min_available=0), gang("high", pods=[claimant])
    high.pod_group.spec.priority_class_name = "urgent"
    world = World(
        nodes=[gpu_node("n")],
        jobs=[low, high],
        conf=PREEMPTING,
        priority_classes=[priority_class("urgent", 100)],
    )

    decisions = world.cycle()

    assert decisions.binds == {}
    assert len(decisions.evictions) == 1
    assert decisions.pipelined == {"default/new": "n"}


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2), st.sampled_from([0, 3000, 21527])), min_size=1, max_size=6))
def test_no_chip_is_overdrawn(wanted: list[tuple[int, int]]) -> None:
    pods = [
        user(f"p{i}", {"huawei.com/Ascend310P": count, "huawei.com/Ascend310P-memory": memory})
        for i, (count, memory) in enumerate(wanted)
    ]
    world = World(nodes=[npu_node("n")], jobs=[gang("g", pods=pods, min_available=1)], conf=HAMI)

    world.cycle()
    world.session().restore()

    units: Any = world.cluster.index(DeviceLedger).at(0)["Ascend310P"]
    for unit in units.units.values():
        assert 0 <= unit.memory_used <= unit.info.devmem
        assert 0 <= unit.used <= unit.info.count
