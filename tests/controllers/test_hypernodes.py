"""Hypernodes with the real controller and API server: from the labels of many nodes, and from UFM."""

from __future__ import annotations

import asyncio

from tests.controllers.bench import Bench, bench
from tests.waiting import until
from volcano.api import resources
from volcano.api.topology import HyperNode
from volcano.controllers.hypernode import labels, ufm
from volcano.controllers.hypernode.config import KEY

PLACE = "volcano-system"
LABELS = """
networkTopologyDiscovery:
- source: label
  enabled: true
  config:
    networkTopologyTypes:
      hall: [{nodeLabel: example.com/hall}, {nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]
"""


async def configure(world: Bench, text: str) -> None:
    document = {"metadata": {"name": "volcano-controller-configmap", "namespace": PLACE}, "data": {KEY: text}}
    await world.client.create(resources.CONFIGMAPS.untyped, document)


async def make_node(world: Bench, name: str, **marks: str) -> None:
    marks = {f"example.com/{key}": value for key, value in marks.items()}
    await world.client.create(resources.NODES.untyped, {"metadata": {"name": name, "labels": marks}})


async def hypernodes(world: Bench) -> list[HyperNode]:
    return list((await world.client.list(resources.HYPERNODES)).items)


def counts(found: list[HyperNode]) -> dict[tuple[int, str], int]:
    return {
        (one.spec.tier, one.metadata.labels[one.spec.tier_name]): one.status.node_count
        for one in found
        if one.spec.tier_name
    }


def test_five_hundred_nodes_in_halls_and_racks() -> None:
    async def main() -> None:
        async with bench() as world:
            await configure(world, LABELS)
            for index in range(500):
                await make_node(world, f"n{index}", rack=f"r{index // 10}", hall=f"h{index // 250}")

            async def settled() -> bool:
                found = counts(await hypernodes(world))
                halls = [count for (tier, _), count in found.items() if tier == 2]
                racks = [count for (tier, _), count in found.items() if tier == 1]
                return halls == [250, 250] and racks == [10] * 50

            await until(settled)
            names = {one.metadata.name for one in await hypernodes(world)}
            await world.quiet()
            await make_node(world, "odd")
            await asyncio.sleep(0.3)
            assert world.wire.writes == []

            await world.client.delete(resources.NODES, "n0")
            await until(lambda: has_count(world, (1, "r0"), 9))
            await until(lambda: has_count(world, (2, "h0"), 249))
            await world.client.delete(resources.HYPERNODES, min(names))

            async def back() -> bool:
                return {one.metadata.name for one in await hypernodes(world)} == names

            await until(back)

    asyncio.run(main())


async def has_count(world: Bench, domain: tuple[int, str], count: int) -> bool:
    return counts(await hypernodes(world)).get(domain) == count


def test_a_configuration_that_cannot_be_used_is_told() -> None:
    async def main() -> None:
        async with bench(max_requeue_num=1) as world:
            await configure(world, "networkTopologyDiscovery: [{source: lable, enabled: true}]")

            async def told() -> bool:
                events = (await world.client.list(resources.EVENTS, PLACE)).items
                return any("unknown topology source 'lable': expected label or ufm" in one.message for one in events)

            await until(told)

    asyncio.run(main())


def test_leaves_keep_their_names_when_others_go() -> None:
    def ports(*nodes: str) -> list[ufm.Port]:
        return [ufm.Port(description="Computer", system_name=node, peer_node_name=f"s-{node[0]}") for node in nodes]

    known = {"leaf-hn-0": frozenset({"a1"}), "leaf-hn-1": frozenset({"b1", "b2"})}
    found = ufm.discover(ports("b1", "b3", "c1"), known)

    assert {one["metadata"]["name"]: len(one["spec"]["members"]) for one in found} == {
        "leaf-hn-1": 2,
        "leaf-hn-0": 1,
        "spine-hn": 2,
    }


def test_a_rack_in_two_halls_is_named() -> None:
    nodes = {"a": {"rack": "r", "hall": "x"}, "b": {"rack": "r", "hall": "y"}}

    assert labels.ambiguous({"t": ["rack", "hall"]}, nodes) == ["nodes with rack=r have different values of hall: x, y"]
