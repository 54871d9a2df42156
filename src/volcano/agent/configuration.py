"""The colocation configuration of a cluster's nodes, as one node is to follow it. Pure.

Defaults, the global part, the last part whose selector matches, then the node's own labels: each has the last word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from volcano.api import keys
from volcano.api.meta import JsonObject, LabelSelector, without_nulls
from volcano.scheduler.cluster.selectors import selects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KEY: Final = "colocation-config"
NAME: Final = "volcano-agent-configuration"


class ConfigurationError(ValueError):
    """The configuration cannot be followed; the message names each field that is wrong."""


class _Section(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """Part of the configuration; fields that it does not know are left alone."""


class NodeLabels(_Section, frozen=True):
    node_colocation_enable: bool = True
    node_over_subscription_enable: bool = False


class Switch(_Section, frozen=True):
    enable: bool = False


class OverSubscription(_Section, frozen=True):
    enable: bool = True
    over_subscription_types: str = "cpu,memory"

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.over_subscription_types.split(",") if part.strip())


class Evicting(_Section, frozen=True):
    cpu_high: int = msgspec.field(default=80, name="evictingCPUHighWatermark")
    memory_high: int = msgspec.field(default=60, name="evictingMemoryHighWatermark")
    cpu_low: int = msgspec.field(default=30, name="evictingCPULowWatermark")
    memory_low: int = msgspec.field(default=30, name="evictingMemoryLowWatermark")


class Throttling(_Section, frozen=True):
    enable: bool = False
    threshold: int = msgspec.field(default=80, name="cpuThrottlingThreshold")
    jitter: int = msgspec.field(default=1, name="cpuJitterLimitPercent")
    recover: int = msgspec.field(default=10, name="cpuRecoverLimitPercent")


class NetworkQos(_Section, frozen=True):
    """Percentages of the node's bandwidth; the interval is in nanoseconds."""

    enable: bool = False
    watermark: int = msgspec.field(default=80, name="onlineBandwidthWatermarkPercent")
    low: int = msgspec.field(default=10, name="offlineLowBandwidthPercent")
    high: int = msgspec.field(default=40, name="offlineHighBandwidthPercent")
    interval: int = msgspec.field(default=10_000_000, name="qosCheckInterval")


class Configuration(_Section, frozen=True):
    node_label_config: NodeLabels = NodeLabels()
    cpu_qos_config: Switch = Switch()
    cpu_burst_config: Switch = Switch()
    memory_qos_config: Switch = Switch()
    memory_qos_v2_config: Switch = Switch()
    network_qos_config: NetworkQos = NetworkQos()
    over_subscription_config: OverSubscription = OverSubscription()
    evicting_config: Evicting = Evicting()
    cpu_throttling_config: Throttling = Throttling()

    @property
    def oversubscribed(self) -> bool:
        return self.node_label_config.node_over_subscription_enable and self.over_subscription_config.enable

    @property
    def colocated(self) -> bool:
        return self.node_label_config.node_colocation_enable


def read(text: str, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None) -> Configuration:
    """What the ConfigMap's text means for a node with these labels and annotations."""
    try:
        document = msgspec.json.decode(text)
        if not isinstance(document, dict) or not isinstance(document.get("globalConfig"), dict):
            raise ConfigurationError(f"{KEY} has no globalConfig: write an object with one, it may be empty")
        merged = document["globalConfig"]
        matching = [
            part
            for part in msgspec.convert(document.get("nodesConfig") or [], list[JsonObject])
            if _matches(part, labels)
        ]
        if matching:
            merged = _merge(merged, matching[-1])
        merged = _merge(merged, {"nodeLabelConfig": _of_labels(labels)})
        types = (annotations or {}).get(keys.OVERSUBSCRIPTION_TYPES)
        if types is not None:
            merged = _merge(merged, {"overSubscriptionConfig": {"overSubscriptionTypes": types}})
        found = msgspec.convert(without_nulls(merged), Configuration)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise ConfigurationError(f"{KEY}: {problem}") from problem
    problems = list(_problems(found))
    if problems:
        raise ConfigurationError("; ".join(problems))
    return found


def default_text() -> str:
    """What the ConfigMap says that is made when there is none."""
    document = {
        "globalConfig": {
            "overSubscriptionConfig": OverSubscription(),
            "evictingConfig": Evicting(),
        }
    }
    return msgspec.json.encode(document).decode()


def _matches(part: Any, labels: Mapping[str, str]) -> bool:
    return selects(msgspec.convert(part.get("selector"), LabelSelector | None), labels)


def _of_labels(labels: Mapping[str, str]) -> JsonObject:
    found: JsonObject = {}
    if keys.COLOCATION in labels:
        found["nodeColocationEnable"] = labels[keys.COLOCATION] == "true"
    if keys.OVERSUBSCRIPTION in labels:
        found["nodeOverSubscriptionEnable"] = labels[keys.OVERSUBSCRIPTION] == "true"
        if found["nodeOverSubscriptionEnable"]:
            found["nodeColocationEnable"] = True
    return found


def _merge(below: JsonObject, above: JsonObject) -> JsonObject:
    """Field by field; null says nothing."""
    merged = dict(below)
    for name, value in above.items():
        if isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = _merge(merged[name], value)
        elif value is not None:
            merged[name] = value
    return merged


def _problems(found: Configuration) -> Iterator[str]:
    evicting, throttling, network = found.evicting_config, found.cpu_throttling_config, found.network_qos_config
    if network.interval <= 0:
        yield f"qosCheckInterval must be a positive number, not {network.interval}"
    for name, value in (
        ("onlineBandwidthWatermarkPercent", network.watermark),
        ("offlineHighBandwidthPercent", network.high),
        ("offlineLowBandwidthPercent", network.low),
    ):
        if not 1 <= value <= 1000:
            yield f"{name} must be a positive number between 1 and 1000, not {value}"
    if network.high < network.low:
        yield "offlineHighBandwidthPercent cannot be less than offlineLowBandwidthPercent"
    for name, value in msgspec.to_builtins(evicting).items():
        if value <= 0:
            yield f"{name} must be a positive number, not {value}"
    if evicting.cpu_low > evicting.cpu_high:
        yield "cpu evicting low watermark is higher than high watermark"
    if evicting.memory_low > evicting.memory_high:
        yield "memory evicting low watermark is higher than high watermark"
    for kind in found.over_subscription_config.types:
        if kind not in ("cpu", "memory"):
            yield f"overSubscriptionType({kind}) is not supported, only supports cpu/memory"
    if not 1 <= throttling.threshold <= 100:
        yield f"cpuThrottlingThreshold must be a positive number between 1 and 100, not {throttling.threshold}"
    if not 0 <= throttling.jitter <= 100:
        yield f"cpuJitterLimitPercent must be a non-negative number between 1 and 100, not {throttling.jitter}"
    if throttling.recover <= 0:
        yield f"cpuRecoverLimitPercent must be a positive number, not {throttling.recover}"
