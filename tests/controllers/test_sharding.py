"""Sharding: configuration, division of nodes, and NodeShards kept by the real controller."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.controllers.bench import NAMESPACE, SLEEPER, Bench, bench
from tests.waiting import until
from volcano.api import resources
from volcano.api.shard import NodeShard
from volcano.controllers.sharding.assign import NodeUse, assign, differs_enough
from volcano.controllers.sharding.config import (
    KEY,
    ConfigProblem,
    PolicyConfig,
    SchedulerConfig,
    from_configmap,
    from_flags,
)

EVERYTHING = "*,+sharding-controller"


def test_the_flags_divide_by_use() -> None:
    config = from_flags([], 60.0, trigger=True)
    uses = {"a": 0.0, "b": 0.3, "c": 0.65, "d": 0.8, "e": 1.0}

    found = assign(config.scheduler_configs, [NodeUse(name, cpu) for name, cpu in uses.items()])

    assert found == {"volcano": ["b", "a"], "agent-scheduler": ["e", "d"]}


def test_warm_nodes_come_first_and_limits_hold() -> None:
    warm = {"node.volcano.sh/warmup": "true"}
    nodes = [NodeUse("a"), NodeUse("b", labels=warm), NodeUse("c", labels=warm)]
    first = SchedulerConfig(name="one", prefer_warmup_nodes=True, max_nodes=2)

    assert assign([first, SchedulerConfig(name="two")], nodes) == {"one": ["b", "c"], "two": ["a"]}


def test_policies_weigh_what_they_find() -> None:
    nodes = [NodeUse("a", 0.9), NodeUse("b", 0.0, labels={"w": "1"})]
    warmup = PolicyConfig(name="warmup", weight=2.0, arguments={"warmupLabel": "w", "warmupLabelValue": "1"})
    scheduler = SchedulerConfig(name="s", policies=[PolicyConfig(name="allocation-rate"), warmup])

    assert assign([scheduler], nodes) == {"s": ["b", "a"]}


@given(st.lists(st.floats(0, 1), max_size=40), st.integers(0, 10), st.integers(0, 10))
def test_no_node_is_in_two_shards(uses: list[float], first: int, second: int) -> None:
    nodes = [NodeUse(f"n{index}", use) for index, use in enumerate(uses)]
    schedulers = [SchedulerConfig(name="a", max_nodes=first), SchedulerConfig(name="b", max_nodes=second)]

    found = assign(schedulers, nodes)

    assert not set(found["a"]) & set(found["b"])
    assert not first or len(found["a"]) <= first


def test_small_changes_are_not_worth_a_write() -> None:
    present = [f"n{index}" for index in range(30)]

    assert not differs_enough(present, present)
    assert not differs_enough(present, [*present[2:], "x", "y"])
    assert differs_enough(present, [*present[3:], "x", "y", "z"])
    assert differs_enough(present, present[1:])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not in the ConfigMap, or empty"),
        ("schedulerConfigs: []", "must contain at least one schedulerConfig entry"),
        ("schedulerConfigs: [{type: x}]", "schedulerConfigs[0].name: required"),
        ("schedulerConfigs: [{name: a, cpuUtilizationMin: 0.9, cpuUtilizationMax: 0.1}]", "expected 0 ≤ min ≤ max ≤ 1"),
        ("schedulerConfigs: [{name: a, minNodes: 5, maxNodes: 2}]", "minNodes 5, maxNodes 2"),
        ("schedulerConfigs: [{name: a, policies: [{name: warmpu}]}]", "unknown policy 'warmpu'"),
        ("schedulerConfigs: [{name: a, policies: [{name: warmup, arguments: {maxNodes: 2}}]}]", "belong to node-limit"),
        (
            "schedulerConfigs: [{name: a, policies: [{name: allocation-rate, arguments: {maxCPUUtil: much}}]}]",
            "schedulerConfigs[0].policies.allocation-rate.maxCPUUtil: 'much': expected a number",
        ),
        (
            "schedulerConfigs: [{name: a, policies: [{name: node-limit, arguments: {maxNodes: 2.5}}]}]",
            "node-limit.maxNodes: 2.5: expected a whole number",
        ),
        (
            "schedulerConfigs: [{name: a, arguments: {minCPUUtil: 60}}]",
            "schedulerConfigs[0].arguments.minCPUUtil: 60: expected 0 to 1",
        ),
        ("schedulerConfigs: 5", "schedulerConfigs"),
        ("schedulerConfigs: [{name: a}]\nshardSyncPeriod: soon", "shardSyncPeriod"),
    ],
)
def test_a_configuration_that_cannot_be_used_says_why(text: str, why: str) -> None:
    with pytest.raises(ConfigProblem, match=re.escape(why)):
        from_configmap({"data": {KEY: text}})


async def make_node(world: Bench, name: str) -> None:
    node = {"metadata": {"name": name}, "status": {"capacity": {"cpu": "4", "memory": "8Gi"}}}
    await world.client.create(resources.NODES.untyped, node)
    await world.client.patch(resources.NODES.untyped, name, {"status": node["status"]}, subresource="status")


async def shards(world: Bench) -> dict[str, NodeShard]:
    return {shard.metadata.name: shard for shard in (await world.client.list(resources.NODE_SHARDS)).items}


async def desires(world: Bench, **expected: list[str]) -> bool:
    return {name: sorted(one.spec.nodes_desired) for name, one in (await shards(world)).items()} == expected


def test_shards_follow_nodes_pods_and_configuration() -> None:
    async def main() -> None:
        async with bench(controllers=EVERYTHING) as world:
            for name in "ab":
                await make_node(world, name)
            await until(lambda: desires(world, volcano=["a", "b"], **{"agent-scheduler": []}))
            shard = (await shards(world))["volcano"]
            assert shard.status.nodes_to_add == ["a", "b"]
            await world.client.patch(
                resources.NODE_SHARDS, "volcano", {"status": {"nodesInUse": ["a", "z"]}}, subresource="status"
            )

            async def complained(reason: str, words: str) -> bool:
                events = (await world.client.list(resources.EVENTS, "volcano-system")).items
                return any(event.reason == reason and words in event.message for event in events)

            async def told() -> bool:
                status = (await shards(world))["volcano"].status
                return (status.nodes_to_add, status.nodes_to_remove) == (["b"], ["z"])

            await until(told)
            container: dict[str, Any] = {**SLEEPER["containers"][0], "resources": {"requests": {"cpu": "3500m"}}}
            pod = {
                "metadata": {"name": "busy", "namespace": NAMESPACE},
                "spec": {"nodeName": "b", "containers": [container]},
            }
            await world.client.create(resources.PODS.untyped, pod)
            await until(lambda: desires(world, volcano=["a"], **{"agent-scheduler": ["b"]}))
            text = "schedulerConfigs: [{name: other}]\nschedulerConfigs: [{name: only}]"
            document = {"metadata": {"name": "volcano-sharding-configmap", "namespace": "volcano-system"}}
            await world.client.create(resources.CONFIGMAPS.untyped, {**document, "data": {KEY: text}})
            await until(lambda: desires(world, only=["a", "b"]))
            await until(lambda: complained("RepeatedKey", "line 2: the key 'schedulerConfigs' is on line 1 already"))
            worse = {"data": {KEY: "schedulerConfigs: [{name: only, arguments: {minCPUUtil: x}}]"}}
            await world.client.patch(
                resources.CONFIGMAPS.untyped, "volcano-sharding-configmap", worse, "volcano-system"
            )

            await until(lambda: complained("InvalidShardingConfig", "minCPUUtil"))
            assert await desires(world, only=["a", "b"])

    asyncio.run(main())
