"""numa-aware: Guaranteed pods get CPUs of one NUMA cell where their policy says so, and nobody else gets these."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from volcano.api import keys
from volcano.api.core import Pod
from volcano.api.meta import ObjectMeta
from volcano.api.nodeinfo import CpuInfo, NumaResource, Numatopology, NumatopologySpec, PodAllocation
from volcano.scheduler.plugins.numa_aware import bits, cpus
from volcano.scheduler.plugins.numa_aware.cpus import Layout
from volcano.scheduler.plugins.numa_aware.ledger import NumaLedger
from volcano.testing.builders import gang, node, pod
from volcano.testing.world import World

CONF = """
actions: "allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: numa-aware, arguments: {weight: 10}}]
"""
DETAIL = {str(cpu): CpuInfo(numa=cpu // 4, socket=cpu // 4, core=cpu // 2) for cpu in range(8)}
LAYOUT = Layout.of(DETAIL)


def report(
    name: str, free: str = "0-7", policy: str = "single-numa-node", reserved: str = "0", listed: tuple[str, ...] = ()
) -> Numatopology:
    return Numatopology(
        metadata=ObjectMeta(name=name),
        spec=NumatopologySpec(
            policies={"CPUManagerPolicy": "static", "TopologyManagerPolicy": policy},
            numares={"cpu": NumaResource(allocatable=free, capacity=8)},
            cpu_detail=DETAIL,
            res_reserved={"cpu": reserved},
            pod_allocations=[PodAllocation(name=pod_name, namespace="default") for pod_name in listed],
        ),
    )


def exclusive(name: str, cpu: int, policy: str = "single-numa-node", group: str = "g") -> Pod:
    found = pod(name, group=group, cpu=cpu, memory="1Gi")
    resources = found.spec.containers[0].resources
    resources.limits.update(resources.requests)
    if policy:
        found.metadata.annotations[keys.NUMA_TOPOLOGY_POLICY] = policy
    return found


def world_of(*reports: Numatopology, pods: list[Pod]) -> World:
    names = [found.metadata.name for found in reports] or ["n"]
    world = World(nodes=[node(name) for name in names], conf=CONF)
    world.add("numatopologies", *reports)
    world.add_gang(gang("g", pods=pods, min_available=1))
    return world


def test_a_pod_goes_where_one_cell_has_enough_cpus() -> None:
    world = world_of(report("split", free="2-5"), report("whole"), pods=[exclusive("p", 4)])

    assert world.cycle().binds == {"default/p": "whole"}


def test_cells_fill_up_within_one_cycle() -> None:
    world = world_of(report("n"), pods=[exclusive(f"p{i}", 3) for i in range(3)])

    assert len(world.cycle().binds) == 2


def test_what_was_decided_counts_until_the_agent_lists_the_pod() -> None:
    world = world_of(report("n"), pods=[exclusive("p", 4)])
    assert len(world.cycle().binds) == 1
    world.add_gang(gang("h", pods=[exclusive("q", 4, group="h"), exclusive("r", 4, group="h")], min_available=1))
    assert len(world.cycle().binds) == 1

    world.update("numatopologies", report("n", free="", listed=("p", "q")))
    world.cycle()

    ledger = world.cluster.index(NumaLedger)
    found = ledger.at("n")
    assert found is not None
    assert found.free == 0
    assert ledger._assigned == {}


@pytest.mark.parametrize(
    ("reports", "policy", "said"),
    [
        ([], "restricted", "numa info is empty"),
        ([report("n", policy="none")], "restricted", r"task topology policy[restricted] is different with node[none]"),
        ([report("n", free="")], "single-numa-node", "cpu allocatable map is empty"),
        ([report("n", reserved="2", free="2-5")], "single-numa-node", "container p cannot be assigned by numa"),
    ],
)
def test_refusals_are_named(reports: list[Numatopology], policy: str, said: str) -> None:
    member = exclusive("p", 4, policy)
    member.spec.containers[0].name = "p"

    assert said in str(world_of(*reports, pods=[member]).cycle().reasons["default/g"])


def test_pods_that_share_cpus_go_anywhere() -> None:
    burstable = pod("p", group="g", cpu=4)
    burstable.metadata.annotations[keys.NUMA_TOPOLOGY_POLICY] = "single-numa-node"

    assert world_of(report("n", free=""), pods=[burstable]).cycle().binds == {"default/p": "n"}


def test_a_report_that_cannot_be_read_is_named() -> None:
    world = world_of(report("n", free="a-b"), pods=[])

    assert any("Numatopology n cannot be used" in warning for warning in world.cycle().warnings)


@given(st.sets(st.integers(0, 7)), st.integers(1, 8))
def test_taken_cpus_are_available_and_as_many_as_wanted(free: set[int], number: int) -> None:
    available = bits.of(free)

    taken = cpus.take(LAYOUT, available, number)

    if len(free) < number:
        assert taken is None
    else:
        assert taken is not None
        assert taken & ~available == 0
        assert taken.bit_count() == number


@pytest.mark.parametrize(("free", "number", "taken"), [("0-7", 4, "0-3"), ("1-7", 4, "4-7"), ("1-3", 2, "2-3")])
def test_whole_sockets_then_whole_cores(free: str, number: int, taken: str) -> None:
    assert cpus.take(LAYOUT, bits.parse(free), number) == bits.parse(taken)


@given(st.sets(st.integers(0, 200)))
def test_sets_of_cpus_survive_writing(members: set[int]) -> None:
    assert bits.parse(",".join(map(str, sorted(members)))) == bits.of(members)
    assert set(bits.members(bits.of(members))) == members
