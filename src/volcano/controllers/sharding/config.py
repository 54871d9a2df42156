"""Which schedulers share the nodes and by which policies: from a ConfigMap, or from flags where there is none.

Pure. Read by controller.py whenever the ConfigMap changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
import yaml
from msgspec import field

from volcano.api import duration, yaml_text
from volcano.api.meta import JsonObject, Model

KEY: Final = "sharding.yaml"
DEFAULT_FLAGS: Final = ("volcano:volcano:0.0:0.6:false:2:100", "agent-scheduler:agent:0.7:1.0:true:2:100")
DEFAULT_PERIOD_SECONDS: Final = 120.0
ALLOCATION_RATE: Final = "allocation-rate"
WARMUP: Final = "warmup"
NODE_LIMIT: Final = "node-limit"
POLICIES: Final = (ALLOCATION_RATE, WARMUP, NODE_LIMIT)
_LIMITS: Final = ("minNodes", "maxNodes")
_NUMBERS: Final = {ALLOCATION_RATE: ("minCPUUtil", "maxCPUUtil"), NODE_LIMIT: _LIMITS}


class ConfigProblem(ValueError):
    """The configuration cannot be used as it is."""


class PolicyConfig(Model, kw_only=True):
    name: str = ""
    weight: float = 0.0
    arguments: dict[str, Any] = field(default_factory=dict)


class SchedulerConfig(Model, kw_only=True):
    """One scheduler and what nodes it wants."""

    name: str = ""
    type: str = ""
    policies: list[PolicyConfig] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)
    cpu_utilization_min: float = 0.0
    cpu_utilization_max: float = 1.0
    prefer_warmup_nodes: bool = False
    min_nodes: int = 0
    max_nodes: int = 0

    def all_policies(self) -> list[PolicyConfig]:
        """The policies it names, or those that its plain fields stand for; a limit in those fields always holds."""
        policies = list(self.policies)
        if not policies:
            bounds = {"minCPUUtil": self.cpu_utilization_min, "maxCPUUtil": self.cpu_utilization_max}
            policies.append(PolicyConfig(name=ALLOCATION_RATE, arguments=self.arguments or bounds))
            if self.prefer_warmup_nodes:
                policies.append(PolicyConfig(name=WARMUP))
        if (self.min_nodes or self.max_nodes) and not any(policy.name == NODE_LIMIT for policy in policies):
            limits = {"minNodes": self.min_nodes, "maxNodes": self.max_nodes}
            policies.append(PolicyConfig(name=NODE_LIMIT, arguments=limits))
        return policies


class Sharding(Model, kw_only=True):
    scheduler_configs: list[SchedulerConfig] = field(default_factory=list)
    shard_sync_period: str = ""
    enable_node_event_trigger: bool = True

    @property
    def period_seconds(self) -> float:
        seconds = duration.parse_seconds(self.shard_sync_period) if self.shard_sync_period else 0.0
        return seconds if seconds > 0 else DEFAULT_PERIOD_SECONDS


def from_configmap(configmap: JsonObject) -> tuple[Sharding, list[str]]:
    """The configuration in a ConfigMap, and a sentence for each key that it has twice."""
    text = (configmap.get("data") or {}).get(KEY)
    if not text:
        raise ConfigProblem(f"{KEY}: not in the ConfigMap, or empty")
    try:
        document, repeated = yaml_text.read(text)
        found = msgspec.convert(document, Sharding, strict=False)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # also a date that is none, or too many brackets
        raise ConfigProblem(f"{KEY}: {error}") from None
    check(found)
    return found, repeated


def from_flags(texts: Iterable[str], period_seconds: float, *, trigger: bool) -> Sharding:
    """`name:type:minUtil:maxUtil:preferWarmup:minNodes:maxNodes`, once per scheduler."""
    schedulers = [_scheduler(text) for text in texts or DEFAULT_FLAGS]
    period = f"{max(period_seconds, 0.0)}s"
    found = Sharding(scheduler_configs=schedulers, shard_sync_period=period, enable_node_event_trigger=trigger)
    check(found)
    return found


def check(config: Sharding) -> None:
    if not config.scheduler_configs:
        raise ConfigProblem("sharding config must contain at least one schedulerConfig entry")
    try:
        _ = config.period_seconds
    except duration.DurationError as error:
        raise ConfigProblem(f"shardSyncPeriod: {error}") from None
    for index, scheduler in enumerate(config.scheduler_configs):
        where = f"schedulerConfigs[{index}]"
        low, high = scheduler.cpu_utilization_min, scheduler.cpu_utilization_max
        if not scheduler.name:
            raise ConfigProblem(f"{where}.name: required")
        if not 0.0 <= low <= high <= 1.0:
            raise ConfigProblem(
                f"{where}: cpuUtilizationMin {low}, cpuUtilizationMax {high}: expected 0 ≤ min ≤ max ≤ 1"
            )
        if scheduler.min_nodes < 0 or (scheduler.max_nodes and scheduler.max_nodes < scheduler.min_nodes):
            raise ConfigProblem(
                f"{where}: minNodes {scheduler.min_nodes}, maxNodes {scheduler.max_nodes}: expected 0 ≤ min ≤ max"
            )
        for policy in scheduler.policies:
            _check_policy(f"{where}.policies", policy)
        if not scheduler.policies:
            _check_numbers(f"{where}.arguments", ALLOCATION_RATE, scheduler.arguments)


def _check_policy(where: str, policy: PolicyConfig) -> None:
    if policy.name not in POLICIES:
        raise ConfigProblem(f"{where}: unknown policy {policy.name!r}: there are {', '.join(POLICIES)}")
    if policy.weight < 0:
        raise ConfigProblem(f"{where}.{policy.name}: weight {policy.weight}: expected 0 or more")
    if policy.name != NODE_LIMIT and (stray := [name for name in _LIMITS if name in policy.arguments]):
        raise ConfigProblem(f"{where}.{policy.name}: {' and '.join(stray)} belong to {NODE_LIMIT}")
    _check_numbers(f"{where}.{policy.name}", policy.name, policy.arguments)


def _check_numbers(where: str, policy: str, arguments: dict[str, Any]) -> None:
    """What a policy computes with must be numbers, and shares must be shares."""
    for name in _NUMBERS.get(policy, ()):
        value = arguments.get(name, 0)
        whole = policy == NODE_LIMIT
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise ConfigProblem(f"{where}.{name}: {value!r}: expected {'a whole number' if whole else 'a number'}")
        if value < 0 or (value > 1 and not whole):
            raise ConfigProblem(f"{where}.{name}: {value}: expected {'0 or more' if whole else '0 to 1'}")


def _scheduler(text: str) -> SchedulerConfig:
    parts = text.split(":")
    try:
        name, type_, low, high, warmup, least, most = parts
        return SchedulerConfig(
            name=name,
            type=type_,
            cpu_utilization_min=_bound(low),
            cpu_utilization_max=_bound(high),
            prefer_warmup_nodes=warmup.lower() == "true",
            min_nodes=int(least),
            max_nodes=int(most),
        )
    except ValueError:
        expected = "name:type:minUtil:maxUtil:preferWarmup:minNodes:maxNodes"
        raise ConfigProblem(f"--scheduler-configs {text!r}: expected {expected}") from None


def _bound(text: str) -> float:
    """A share; what is infinite is all or nothing."""
    return min(max(float(text), 0.0), 1.0) if "inf" in text else float(text)
