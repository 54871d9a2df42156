"""What to discover, from where and how often: the `networkTopologyDiscovery` of the controllers' ConfigMap.

Pure. Read by controller.py whenever the ConfigMap changes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import yaml
from msgspec import field

from volcano.api import duration, yaml_text
from volcano.api.meta import JsonObject, Model

KEY: Final = "volcano-controller.conf"
LABEL: Final = "label"
UFM: Final = "ufm"
SOURCES: Final = (LABEL, UFM)
EVERY_SECONDS: Final = 3600.0
TYPE_NAME_LENGTH: Final = 20


class ConfigProblem(ValueError):
    """The ConfigMap cannot be used as it is."""


class SecretRef(Model, kw_only=True):
    name: str = ""
    namespace: str = ""


class Credentials(Model, kw_only=True):
    secret_ref: SecretRef = field(default_factory=SecretRef)


class Discovery(Model, kw_only=True):
    """One source of topology."""

    source: str = ""
    enabled: bool = False
    interval: str = ""
    credentials: Credentials = field(default_factory=Credentials)
    config: dict[str, Any] = field(default_factory=dict)

    def seconds_between_looks(self) -> float:
        """An hour when nothing sensible is said."""
        try:
            seconds = duration.parse_seconds(self.interval) if self.interval else 0.0
        except duration.DurationError:
            raise ConfigProblem(f"{self.source}: interval {self.interval!r}: expected a duration such as 10m") from None
        return seconds if seconds > 0 else EVERY_SECONDS


class Config(Model, kw_only=True):
    network_topology_discovery: list[Discovery] = field(default_factory=list)


def load(configmap: JsonObject | None, name: str) -> tuple[Config, list[str]]:
    """The configuration in a ConfigMap, and a sentence for each key that it has twice."""
    if configmap is None:
        raise ConfigProblem(f'configmap "{name}" not found')
    text = (configmap.get("data") or {}).get(KEY)
    if text is None:
        raise ConfigProblem(f"config key not found in ConfigMap: {KEY}")
    try:
        document, repeated = yaml_text.read(text)
        return msgspec.convert(document or {}, Config), repeated
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error)
        raise ConfigProblem(f"failed to parse config: yaml: {problem}") from None
    except (ValueError, RecursionError) as error:  # also a date that is none, or too many brackets
        raise ConfigProblem(f"failed to parse config: {error}") from None


def enabled(config: Config) -> dict[str, Discovery]:
    """What is to be discovered, by source; all of it must be readable."""
    for discovery in config.network_topology_discovery:
        if discovery.source not in SOURCES:
            raise ConfigProblem(f"unknown topology source {discovery.source!r}: expected {' or '.join(SOURCES)}")
        discovery.seconds_between_looks()
    return {discovery.source: discovery for discovery in config.network_topology_discovery if discovery.enabled}


def label_levels(discovery: Discovery) -> dict[str, list[str]]:
    """The node labels of every topology type, lowest tier first; the label of the nodes themselves is no tier."""
    types = discovery.config.get("networkTopologyTypes") or {}
    if not isinstance(types, dict):
        raise ConfigProblem("label: networkTopologyTypes: expected topology types, each with its node labels")
    found: dict[str, list[str]] = {}
    for name, levels in types.items():
        try:
            keys = [level["nodeLabel"] for level in levels]
        except (TypeError, KeyError):
            raise ConfigProblem(f"label: networkTopologyTypes.{name}: expected a list of nodeLabel entries") from None
        if len(name) > TYPE_NAME_LENGTH:
            raise ConfigProblem(f"label: networkTopologyTypes.{name}: at most {TYPE_NAME_LENGTH} characters")
        if len(set(keys)) < len(keys):
            raise ConfigProblem(f"label: networkTopologyTypes.{name}: each nodeLabel may come once")
        found[str(name)] = keys[-2::-1]
    return found
