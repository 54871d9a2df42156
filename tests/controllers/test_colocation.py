"""Colocation configurations: which one a pod gets, and what the agent reads."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import msgspec

from tests.controllers.bench import NAMESPACE, SLEEPER, Bench, bench
from tests.waiting import until
from volcano.api import keys, resources
from volcano.api.config import ColocationConfiguration
from volcano.controllers.colocation.choice import annotations_for, choose, settings_of


def configuration(name: str, age: int, selector: dict[str, Any] | None, **ratios: int) -> ColocationConfiguration:
    created = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) - datetime.timedelta(hours=age)
    spec: dict[str, Any] = {"memoryQos": ratios}
    if selector is not None:
        spec["selector"] = selector
    document = {"metadata": {"name": name, "creationTimestamp": created}, "spec": spec}
    return msgspec.convert(document, ColocationConfiguration)


def test_the_newest_that_selects_the_pod_counts() -> None:
    old = configuration("old", 2, {"matchLabels": {"app": "x"}})
    new = configuration("new", 1, {})
    newest = configuration("newest", 0, None)

    assert choose([old, newest, new], {"app": "x"}) is new
    assert choose([old, newest], {"app": "x"}) is old
    assert choose([old, newest], {"app": "y"}) is None


def test_ratios_of_zero_are_left_out() -> None:
    assert settings_of(configuration("c", 0, {}, highRatio=80, minRatio=0)) == '{"memoryQos":{"highRatio":80}}'


def test_a_pod_that_no_configuration_selects_any_more_is_reset() -> None:
    present = {keys.COLOCATION_CONFIG_NAME: "c", keys.COLOCATION_CONFIG: '{"memoryQos":{}}', "other": "stays"}

    assert annotations_for(None, present) == {keys.COLOCATION_CONFIG_NAME: None, keys.COLOCATION_CONFIG: "{}"}
    assert annotations_for(None, {"other": "stays"}) == {}


def test_pods_follow_configurations() -> None:
    async def main() -> None:
        async with bench() as world:
            pod = {"metadata": {"name": "p", "namespace": NAMESPACE, "labels": {"app": "x"}}, "spec": SLEEPER}
            await world.client.create(resources.PODS.untyped, pod)
            document = {
                "metadata": {"name": "c", "namespace": NAMESPACE},
                "spec": {"selector": {"matchLabels": {"app": "x"}}, "memoryQos": {"highRatio": 50, "lowRatio": 20}},
            }
            await world.client.create(resources.COLOCATION_CONFIGURATIONS.untyped, document)
            await until(lambda: has(world, '{"memoryQos":{"highRatio":50,"lowRatio":20}}'))
            await world.client.delete(resources.COLOCATION_CONFIGURATIONS, "c", NAMESPACE)
            await until(lambda: has(world, "{}"))

    asyncio.run(main())


async def has(world: Bench, settings: str) -> bool:
    pod = await world.client.get(resources.PODS, "p", NAMESPACE)
    return pod.metadata.annotations.get(keys.COLOCATION_CONFIG) == settings
