"""Jobs in topology domains: close together or not at all, and sub-groups as gangs within the gang."""

from __future__ import annotations

from collections.abc import Sequence

from volcano.api.batch import NetworkTopologySpec
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import SubGroupPolicySpec
from volcano.api.topology import ExactMatch, HyperNode, HyperNodeSpec, MemberSelector, MemberSpec
from volcano.scheduler.framework.reasons import Stage
from volcano.testing.builders import Gang, gang, node, pod
from volcano.testing.world import World

CONF = """
actions: "allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: network-topology-aware
"""


def hypernode(name: str, tier: int, members: Sequence[str], kind: str = "Node", tier_name: str = "") -> HyperNode:
    specs = [MemberSpec(type=kind, selector=MemberSelector(exact_match=ExactMatch(name=member))) for member in members]
    return HyperNode(metadata=ObjectMeta(name=name), spec=HyperNodeSpec(tier=tier, tier_name=tier_name, members=specs))


def world(*jobs: Gang, cpu: int = 1) -> World:
    """Two racks of two nodes each under one switch."""
    made = World(nodes=[node(f"{rack}{i}", cpu=cpu) for rack in "ab" for i in (1, 2)], jobs=jobs, conf=CONF)
    made.add(
        "hypernodes",
        hypernode("rack-a", 1, ["a1", "a2"], tier_name="rack"),
        hypernode("rack-b", 1, ["b1", "b2"], tier_name="rack"),
        hypernode("switch", 2, ["rack-a", "rack-b"], "HyperNode", tier_name="switch"),
    )
    return made


def close(job: Gang, **topology: object) -> Gang:
    job.pod_group.spec.network_topology = NetworkTopologySpec(**topology)  # type: ignore[arg-type]
    return job


def racks(binds: dict[str, str]) -> set[str]:
    return {name[0] for name in binds.values()}


def test_a_hard_limit_keeps_a_gang_in_one_rack() -> None:
    binds = world(close(gang("train", pods=2, cpu=1), mode="hard", highest_tier_allowed=1)).cycle().binds

    assert len(binds) == 2
    assert len(racks(binds)) == 1


def test_a_gang_that_no_rack_holds_does_not_start() -> None:
    decisions = world(close(gang("train", pods=3, cpu=1), mode="hard", highest_tier_allowed=1)).cycle()

    assert decisions.binds == {}
    assert decisions.reason("train") is not None


def test_a_soft_wish_spreads_only_when_it_must() -> None:
    small = world(close(gang("train", pods=2, cpu=1), mode="soft")).cycle().binds
    large = world(close(gang("train", pods=3, cpu=1), mode="soft")).cycle().binds

    assert len(racks(small)) == 1
    assert len(large) == 3


def test_tiers_may_be_named() -> None:
    binds = world(close(gang("train", pods=2, cpu=1), mode="hard", highest_tier_name="rack")).cycle().binds

    assert len(racks(binds)) == 1


def test_an_unknown_tier_name_is_a_reason_not_a_shrug() -> None:
    decisions = world(close(gang("train", pods=1, cpu=1), mode="hard", highest_tier_name="rak")).cycle()

    assert decisions.binds == {}
    reason = decisions.reason("train")
    assert reason is not None
    assert (reason.stage, reason.code, reason.blocker) == (Stage.TOPOLOGY, "TierUnknown", "rak")


def test_a_member_that_comes_later_joins_the_others() -> None:
    members = [pod("train-w-0", group="train", cpu=1, node="b1"), pod("train-w-1", group="train", cpu=1)]
    job = close(gang("train", pods=members, min_available=1), mode="hard", highest_tier_allowed=1)

    assert world(job).cycle().binds == {"default/train-w-1": "b2"}


def test_sub_groups_are_close_each_for_itself() -> None:
    members = [
        pod(f"train-{part}-{i}", group="train", cpu=1, labels={"part": part}) for part in ("x", "y") for i in (0, 1)
    ]
    job = gang("train", pods=members)
    job.pod_group.spec.sub_group_policy = [
        SubGroupPolicySpec(
            name="parts",
            match_label_keys=["part"],
            sub_group_size=2,
            min_sub_groups=2,
            network_topology=NetworkTopologySpec(mode="hard", highest_tier_allowed=1),
        )
    ]

    binds = world(job).cycle().binds

    assert len(binds) == 4
    for part in ("x", "y"):
        assert len({binds[f"default/train-{part}-{i}"][0] for i in (0, 1)}) == 1


def test_broken_hypernodes_hold_up_only_those_who_ask_for_them() -> None:
    broken = world(close(gang("near", pods=1, cpu=1), mode="hard", highest_tier_allowed=1), gang("any", pods=1, cpu=1))
    broken.add("hypernodes", hypernode("other", 2, ["rack-a"], "HyperNode"))

    decisions = broken.cycle()

    assert set(decisions.binds) == {"default/any-worker-0"}
    reason = decisions.reason("near")
    assert reason is not None
    assert "'rack-a' is a member of both" in reason.message


def test_a_gang_comes_back_to_the_domain_in_which_room_was_made_for_it() -> None:
    for promised in ("rack-a", "rack-b"):
        made = world(close(gang("train", pods=2, cpu=1), mode="hard", highest_tier_allowed=2))
        (sub_job,) = made.cluster.jobs["default/train"].sub_jobs.values()
        sub_job.nominated_hypernode = promised

        binds = made.cycle().binds

        assert racks(binds) == {promised[-1]}
        assert sub_job.nominated_hypernode == ""
