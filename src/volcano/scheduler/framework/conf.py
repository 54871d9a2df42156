"""The scheduler's configuration file: actions, tiers of plugins with switches and arguments, per-action arguments.

Upstream's grammar exactly (key spellings, defaults, what is invalid); what upstream ignores silently becomes a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from volcano.api import yaml_text
from volcano.scheduler.framework.arguments import suggest
from volcano.scheduler.framework.hooks import OFF_BY_DEFAULT, SWITCHES

DEFAULT_CONF: Final = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""

_TOP_KEYS = ("actions", "tiers", "configurations", "metrics")


class ConfError(ValueError):
    """The file cannot be used; the message says which part and what to do."""


@dataclass(frozen=True)
class PluginOption:
    """One entry of a tier."""

    name: str
    switches: frozenset[str] = frozenset()
    """The switches that are on."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Conf:
    actions: tuple[str, ...]
    tiers: tuple[tuple[PluginOption, ...], ...]
    configurations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments per action; of several entries with one name the first counts."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def plugins(self) -> Iterable[PluginOption]:
        return (option for tier in self.tiers for option in tier)


def parse(text: str, known_actions: Iterable[str]) -> Conf:
    """The configuration in `text`. Raises ConfError where upstream would refuse the file."""
    try:
        document, warnings = yaml_text.read(text)
    except yaml.YAMLError as problem:
        raise ConfError(f"scheduler configuration is not valid YAML: {_in_one_line(problem)}") from problem
    except (ValueError, RecursionError) as problem:  # a date or a number that is none, or too many brackets
        raise ConfError(f"scheduler configuration cannot be read: {problem}") from problem
    if document is None:
        document = {}
    if not isinstance(document, dict):
        raise ConfError("scheduler configuration must be a map with the keys actions and tiers")
    warnings += [
        f"configuration key {key!r} is not known and has no effect{suggest(str(key), _TOP_KEYS)}"
        for key in document
        if key not in _TOP_KEYS
    ]
    known = tuple(known_actions)
    actions = _actions(document.get("actions"), known)
    tiers = tuple(_tier(tier, number, warnings) for number, tier in enumerate(_list(document, "tiers"), 1))
    conf = Conf(
        actions=actions,
        tiers=tiers,
        configurations=_configurations(_list(document, "configurations")),
        metrics=_metrics(document.get("metrics") or {}),
    )
    warnings += [
        f"configurations: action {name!r} is not known{suggest(name, known)}"
        for name in conf.configurations
        if name not in known
    ]
    warnings += _lint(conf)
    return Conf(conf.actions, conf.tiers, conf.configurations, conf.metrics, tuple(warnings))


def _in_one_line(problem: yaml.YAMLError) -> str:
    """Where the YAML is wrong and why, as one line of a log."""
    mark = getattr(problem, "problem_mark", None)
    reason = getattr(problem, "problem", None)
    return f"line {mark.line + 1}: {reason}" if mark and reason else str(problem)


def _actions(value: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    if value is not None and not isinstance(value, str):
        raise ConfError(f"actions must be one string of comma-separated names, not {value!r}")
    names = tuple(name.strip() for name in (value or "").split(","))
    for name in names:
        if name not in known:
            hint = suggest(name, known) or f" (known: {', '.join(known)})"
            missing = f"there is no action {name!r}" if name else "a name is missing"
            raise ConfError(f"actions: {missing}{hint}")
    return names


def _tier(tier: Any, number: int, warnings: list[str]) -> tuple[PluginOption, ...]:
    if not isinstance(tier, dict):
        raise ConfError(f"tiers[{number - 1}] must be a map with the key plugins")
    options = tuple(_option(entry, f"tier {number}", warnings) for entry in _list(tier, "plugins"))
    hierarchical = any(option.name == "drf" and "enableHierarchy" in option.switches for option in options)
    if hierarchical and any(option.name == "proportion" for option in options):
        raise ConfError(
            f"tier {number}: drf with enableHierarchy and proportion exclude each other: "
            "drop proportion, or switch enableHierarchy off"
        )
    return options


def _option(entry: Any, where: str, warnings: list[str]) -> PluginOption:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ConfError(f"{where}: every plugin needs a name, got {entry!r}")
    name = entry["name"]
    switches = set(SWITCHES) - OFF_BY_DEFAULT
    for key, value in entry.items():
        if key in ("name", "arguments"):
            continue
        if key not in SWITCHES:
            warnings.append(f"{where}, plugin {name!r}: key {key!r} has no effect{suggest(str(key), SWITCHES)}")
        elif not isinstance(value, bool | None):
            raise ConfError(f"{where}, plugin {name!r}: {key} must be true or false, not {value!r}")
        elif value is not None:
            switches = switches | {key} if value else switches - {key}
    arguments = entry.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise ConfError(f"{where}, plugin {name!r}: arguments must be a map, not {arguments!r}")
    return PluginOption(name, frozenset(switches), {str(key): value for key, value in arguments.items()})


def _configurations(entries: list[Any]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            raise ConfError(f"configurations: every entry must be a map with name and arguments, got {entry!r}")
        found.setdefault(str(entry.get("name", "")), entry.get("arguments") or {})
    return found


def _metrics(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ConfError(f"metrics must be a map, not {value!r}")
    return {str(key): str(setting) for key, setting in value.items()}


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    value = document.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ConfError(f"{key} must be a list, not {value!r}")
    return value


def _lint(conf: Conf) -> list[str]:
    """What is allowed and yet probably a mistake."""
    warnings = []
    names = [option.name for option in conf.plugins]
    if "allocate" not in conf.actions:
        warnings.append("actions: without allocate no pod gets a node")
    if {"preempt", "gangpreempt"} <= set(conf.actions) or {"reclaim", "gangreclaim"} <= set(conf.actions):
        warnings.append("actions: the gang evictions replace preempt and reclaim; do not combine them")
    if "predicates" not in names:
        warnings.append("tiers: without predicates pods go to nodes that their selectors and taints forbid")
    if "proportion" in names and "capacity" in names:
        warnings.append("tiers: proportion and capacity both limit queues; use one of them")
    warnings += [
        f"tiers: plugin {name!r} is listed more than once; the last entry's callbacks count"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    return warnings
