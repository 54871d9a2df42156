"""What the agent decides, whatever it measures."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.agent.pods import from_containers, pod
from volcano.agent import eviction, oversubscription, throttling, values
from volcano.agent.configuration import ConfigurationError, Evicting, Throttling, default_text, read
from volcano.agent.qos import Amount, BatchNames, level, requested
from volcano.api import keys
from volcano.api.core.nodes import Taint

NAMES = BatchNames()
AMOUNTS = st.integers(0, 1 << 42)
BOTH = st.builds(Amount, cpu=AMOUNTS, memory=AMOUNTS)
PERCENTS = st.integers(0, 130)


@pytest.mark.parametrize(("text", "wanted"), [("LC", 2), ("HLS", 2), ("LS", 1), ("BE", -1), ("", 0), ("odd", 0)])
def test_levels(text: str, wanted: int) -> None:
    assert level({keys.QOS_LEVEL: text}) == wanted


# Oversubscription


@given(BOTH, BOTH, BOTH, st.integers(1, 100))
def test_more_usage_never_offers_more(total: Amount, usage: Amount, more: Amount, ratio: int) -> None:
    first = oversubscription.spare(total, usage, ratio)
    second = oversubscription.spare(total, Amount(usage.cpu + more.cpu, usage.memory + more.memory), ratio)
    assert 0 <= second.cpu <= first.cpu <= total.cpu
    assert 0 <= second.memory <= first.memory <= total.memory


@given(st.lists(BOTH, min_size=1, max_size=30))
def test_the_mean_lies_between_the_last_samples(samples: list[Amount]) -> None:
    window = oversubscription.Window()
    for sample in samples:
        window.add(sample)
    last = samples[-oversubscription.SAMPLES :]
    assert min(one.cpu for one in last) <= window.value().cpu <= max(one.cpu for one in last)
    assert window.value(("memory",)).cpu == 0


def test_the_newest_sample_weighs_most() -> None:
    window = oversubscription.Window()
    for cpu in (0, 0, 700):
        window.add(Amount(cpu=cpu))
    assert window.value().cpu == 400


@pytest.mark.parametrize(
    ("before", "after", "rounds", "wanted"),
    [
        (None, Amount(), 1, True),
        (Amount(100, 100), Amount(110, 90), 1, False),
        (Amount(100, 100), Amount(111, 100), 1, True),
        (Amount(100, 100), Amount(100, 100), 6, True),
        (Amount(0, 0), Amount(0, 1), 1, True),
    ],
)
def test_reports_what_changed_notably(before: Amount | None, after: Amount, rounds: int, wanted: bool) -> None:
    assert oversubscription.worth_reporting(before, after, rounds) is wanted


def test_patches_of_the_status() -> None:
    offered = {"kubernetes.io/batch-cpu": "1500", "kubernetes.io/batch-memory": "1Gi"}
    wanted = {"status": {"capacity": offered, "allocatable": offered}}
    assert oversubscription.status_patch(Amount(1500, 1 << 30), NAMES) == wanted
    assert set(oversubscription.status_patch(None, NAMES)["status"]["capacity"].values()) == {None}


# Eviction


@given(st.lists(st.integers(0, 79), max_size=20))
def test_no_pressure_below_the_high_watermark(usage: list[int]) -> None:
    pressure = eviction.Pressure()
    for cpu in usage:
        pressure.observe(Amount(cpu=cpu), Evicting())
        assert not pressure.on


@given(PERCENTS, PERCENTS)
def test_at_the_low_watermark_nothing_is_under_pressure(cpu: int, memory: int) -> None:
    pressure, marks = eviction.Pressure(), Evicting()
    for _ in range(eviction.ROUNDS):
        pressure.observe(Amount(cpu, memory), marks)
    assert not (eviction.relaxed(Amount(cpu, memory), marks) and pressure.on)


def test_pressure_needs_a_minute_and_ends_at_once() -> None:
    pressure = eviction.Pressure()
    seen = []
    for cpu in (80, 90, 99, 80, 80, 80, 79):
        pressure.observe(Amount(cpu=cpu), Evicting())
        seen.append(pressure.on)
    assert seen == [(), (), (), (), (), ("cpu",), ()]


def test_the_largest_batch_pod_goes_first_and_online_pods_never() -> None:
    pods = [pod("small", cpu="100"), pod("large", cpu="900"), pod("online", "LC", cpu="9000"), pod("b", cpu="100")]
    critical = pod("critical", cpu="5000")
    critical.spec.priority_class_name = "system-node-critical"
    chosen = eviction.victims([*pods, critical], "cpu", NAMES)
    assert [one.metadata.name for one in chosen] == ["large", "b", "small"]
    assert requested(pods[1], NAMES) == Amount(900, 1 << 30)


@pytest.mark.parametrize(
    ("annotations", "cpu_high"),
    [
        ({}, 70),
        ({"volcano.sh/evicting-cpu-high-watermark": "55"}, 55),
        ({"volcano.sh/oversubscription-evicting-cpu-high-watermark": "56"}, 56),
        ({"volcano.sh/evicting-memory-low-watermark": "20"}, 80),
        ({"volcano.sh/evicting-cpu-high-watermark": "20"}, 70),
        ({"volcano.sh/evicting-cpu-high-watermark": "-3"}, 70),
    ],
)
def test_watermarks_of_annotations(annotations: dict[str, str], cpu_high: int) -> None:
    assert eviction.watermarks(Evicting(cpu_high=70), annotations).cpu_high == cpu_high


def test_the_taint_is_there_once_and_leaves_others_alone() -> None:
    other = Taint(key="a", effect="NoSchedule")
    twice = eviction.with_taint(eviction.with_taint([other]))
    assert twice == [other, eviction.TAINT]
    assert eviction.tainted(twice)
    assert eviction.without_taint(twice) == [other]


# Throttling

RULES = st.builds(
    Throttling,
    enable=st.just(True),
    threshold=st.integers(1, 100),
    jitter=st.integers(0, 100),
    recover=st.integers(1, 100),
)
MILLI = st.integers(0, 500_000)


@given(MILLI, MILLI, st.none() | MILLI)
def test_nothing_is_throttled_when_disabled(allocatable: int, online: int, last: int | None) -> None:
    assert throttling.next_limit(allocatable, online, last, Throttling(enable=False)) is None


@given(MILLI, MILLI, MILLI, st.none() | MILLI, RULES)
def test_limits_fall_as_online_usage_grows(
    allocatable: int, online: int, more: int, last: int | None, rules: Throttling
) -> None:
    first = throttling.next_limit(allocatable, online, last, rules)
    second = throttling.next_limit(allocatable, online + more, last, rules)
    assert all(limit is None or 0 <= limit <= allocatable for limit in (first, second))
    if first is not None and second is not None:
        assert second <= first


@given(st.integers(1, 500_000), MILLI, RULES)
def test_a_limit_grows_little_by_little(allocatable: int, last: int, rules: Throttling) -> None:
    limit = throttling.next_limit(allocatable, 0, last, rules)
    if limit is not None and last:
        assert limit <= max(last + 1, last * (100 + rules.recover) // 100)


def test_usage_of_best_effort_pods_is_not_online() -> None:
    assert throttling.online_usage(1500, 900) == 600
    assert throttling.online_usage(900, 901) == 0


# Values


def test_batch_resources_of_both_versions() -> None:
    assert values.resources(pod(cpu="2000"), NAMES, "v1").containers["c"] == {
        "cpu.shares": "2048",
        "cpu.cfs_quota_us": "200000",
        "memory.limit_in_bytes": str(1 << 30),
    }
    found = values.resources(pod(cpu="2000"), NAMES, "v2")
    assert (
        found.pod
        == found.containers["c"]
        == {"cpu.weight": "79", "cpu.max": "200000 100000", "memory.max": str(1 << 30)}
    )


def test_a_pod_is_unlimited_when_one_of_its_containers_is() -> None:
    amounts = {"kubernetes.io/batch-cpu": "500"}
    mixed = from_containers([{"name": "a", "resources": {"requests": amounts, "limits": amounts}}, {"name": "b"}])
    found = values.resources(mixed, NAMES, "v2")
    assert found.pod["cpu.max"] == "max 100000"
    assert list(found.containers) == ["a"]


def test_pods_without_batch_resources_are_left_alone() -> None:
    assert values.resources(from_containers([{"name": "a"}]), NAMES, "v1") == values.PodFiles()


@given(MILLI, MILLI)
def test_shares_and_weights_grow_with_requests(one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert 2 <= values.shares(low) <= values.shares(high) <= 262_144
    assert 1 <= values.weight(low) <= values.weight(high) <= 10_000


@given(st.integers(-1, 1 << 40), st.text("0123456789x", max_size=12))
def test_bursts_stay_within_the_quota(quota: int, asked: str) -> None:
    assert 0 <= values.burst(quota, {keys.QUOTA_BURST_TIME: asked}) <= max(0, quota)


def test_memory_protection() -> None:
    amounts = {"requests": {"memory": "100"}, "limits": {"memory": "1000"}}
    [container] = from_containers([{"name": "a", "resources": amounts}]).spec.containers
    ratios = values.memory_ratios(
        {keys.COLOCATION_CONFIG: '{"memoryQos":{"highRatio":80,"lowRatio":50,"minRatio":10}}'}
    )
    assert ratios is not None
    found = values.memory_protection(container, ratios, NAMES, batch=True)
    assert found == {"memory.high": "800", "memory.low": "50", "memory.min": "10"}
    reset = values.memory_ratios({keys.COLOCATION_CONFIG: "{}"})
    assert reset is not None
    assert values.memory_protection(container, reset, NAMES, batch=True) == {
        "memory.high": "max",
        "memory.low": "0",
        "memory.min": "0",
    }
    with pytest.raises(ValueError, match=keys.COLOCATION_CONFIG):
        values.memory_ratios({keys.COLOCATION_CONFIG: "{"})


# Configuration


def test_the_last_part_that_matches_wins_field_by_field() -> None:
    text = """{"globalConfig": {"evictingConfig": {"evictingCPUHighWatermark": 70, "evictingCPULowWatermark": 20}},
      "nodesConfig": [
        {"selector": {"matchLabels": {"a": "b"}}, "evictingConfig": {"evictingCPUHighWatermark": 60}},
        {"selector": {"matchLabels": {"a": "b"}}, "evictingConfig": {"evictingCPUHighWatermark": 50}},
        {"selector": {"matchLabels": {"a": "c"}}, "evictingConfig": {"evictingCPUHighWatermark": 40}}]}"""
    evicting = read(text, {"a": "b"}).evicting_config
    assert (evicting.cpu_high, evicting.cpu_low, evicting.memory_high) == (50, 20, 60)
    assert read(text, {}).evicting_config.cpu_high == 70


@pytest.mark.parametrize(
    ("configured", "labels", "wanted"),
    [
        ("null", {}, False),
        ("true", {}, True),
        ("true", {keys.OVERSUBSCRIPTION: "false"}, False),
        ("false", {keys.OVERSUBSCRIPTION: "true"}, True),
    ],
)
def test_labels_go_before_the_configuration(configured: str, labels: dict[str, str], wanted: bool) -> None:
    text = f'{{"globalConfig": {{"nodeLabelConfig": {{"nodeOverSubscriptionEnable": {configured}}}}}}}'
    assert read(text, labels).oversubscribed is wanted


def test_the_configuration_that_is_made_is_the_default() -> None:
    assert read(default_text(), {}) == read('{"globalConfig": {}}', {})
    assert read(default_text(), {}, {keys.OVERSUBSCRIPTION_TYPES: "cpu"}).over_subscription_config.types == ("cpu",)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"evictingConfig": {"evictingCPUHighWatermark": 0}}, "evictingCPUHighWatermark must be a positive number"),
        ({"evictingConfig": {"evictingCPULowWatermark": 90}}, "cpu evicting low watermark is higher than high"),
        ({"overSubscriptionConfig": {"overSubscriptionTypes": "gpu"}}, r"overSubscriptionType\(gpu\) is not supported"),
        ({"cpuThrottlingConfig": {"cpuThrottlingThreshold": 101}}, "cpuThrottlingThreshold must be a positive number"),
        ({"cpuThrottlingConfig": {"cpuJitterLimitPercent": -1}}, "cpuJitterLimitPercent must be a non-negative number"),
        ({"cpuThrottlingConfig": {"cpuRecoverLimitPercent": 0}}, "cpuRecoverLimitPercent must be a positive number"),
        ({"networkQosConfig": {"qosCheckInterval": 0}}, "qosCheckInterval must be a positive number"),
        (
            {"networkQosConfig": {"onlineBandwidthWatermarkPercent": 1001}},
            "onlineBandwidthWatermarkPercent must be a positive number between 1 and 1000",
        ),
        (
            {"networkQosConfig": {"offlineHighBandwidthPercent": 9}},
            "offlineHighBandwidthPercent cannot be less than offlineLowBandwidthPercent",
        ),
        ({"cpuThrottlingConfig": {"enable": "yes"}}, "cpuThrottlingConfig.enable"),
    ],
)
def test_what_is_wrong_is_named(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read(json.dumps({"globalConfig": section}), {})


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"globalConfig": 3}', '{"globalConfig":{},"nodesConfig":[1]}'])
def test_a_text_that_is_no_configuration(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^colocation-config"):
        read(text, {})
