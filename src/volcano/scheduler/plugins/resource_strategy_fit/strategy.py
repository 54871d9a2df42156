"""Which resource is scored how: from the arguments and, for single pods, from their annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from volcano.api import keys

if TYPE_CHECKING:
    from volcano.api.core import Pod

LEAST: Final = "LeastAllocated"
MOST: Final = "MostAllocated"
WILDCARD: Final = "*"
DEFAULT_WEIGHT: Final = 10


@dataclass(frozen=True, slots=True)
class Strategy:
    kind: str = LEAST
    weight: int = 1


class ResourceOption(msgspec.Struct, frozen=True):
    type: str = LEAST
    weight: int = 1


class ScarceOption(msgspec.Struct, frozen=True, rename="camel"):
    """`sra`: nodes with scarce resources are for pods that ask for them."""

    enable: bool = False
    resources: str = ""
    weight: int = 0
    resource_weight: dict[str, int] = {}


class ProportionalOption(msgspec.Struct, frozen=True, rename="camel"):
    """`proportional`: beside idle scarce devices, so much CPU and memory is kept free for their users."""

    enable: bool = False
    resources: str = ""
    resource_proportion: dict[str, float] = {}


class Arguments(msgspec.Struct, frozen=True):
    weight: int = msgspec.field(default=DEFAULT_WEIGHT, name="resourceStrategyFitWeight")
    resources: dict[str, ResourceOption] = {}
    sra: ScarceOption = ScarceOption()
    proportional: ProportionalOption = ProportionalOption()


def strategies(options: Mapping[str, ResourceOption]) -> tuple[dict[str, Strategy], list[str]]:
    """Strategies by resource name or prefix with `*`, and the names that cannot be used."""
    if not options:
        return {"cpu": Strategy(), "memory": Strategy()}, []
    found: dict[str, Strategy] = {}
    unusable = []
    for name, option in options.items():
        if WILDCARD in name and (name.index(WILDCARD) != len(name) - 1 or name == WILDCARD):
            unusable.append(name)
            continue
        kind = option.type if option.type in (LEAST, MOST) else LEAST
        found[name] = Strategy(kind, option.weight if option.weight > 0 else 1)
    return found, unusable


def strategy_for(name: str, configured: Mapping[str, Strategy]) -> Strategy | None:
    """By the exact name, else by the longest prefix."""
    exact = configured.get(name)
    if exact is not None:
        return exact
    prefixes = [p for p in configured if p.endswith(WILDCARD) and name.startswith(p[:-1])]
    return configured[max(prefixes, key=len)] if prefixes else None


def pod_strategies(pod: Pod, names: Iterable[str]) -> dict[str, Strategy] | None:
    """What the pod's own annotations say; None if they say nothing."""
    kind = pod.metadata.annotations.get(keys.RESOURCE_STRATEGY_SCORING_TYPE, "")
    if not kind:
        return None
    text = pod.metadata.annotations.get(keys.RESOURCE_STRATEGY_WEIGHT, "")
    try:
        weights: dict[str, Any] = msgspec.json.decode(text, type=dict[str, int])
    except msgspec.MsgspecError:
        return {}
    return {name: Strategy(kind, weights[name]) for name in names if name in weights}


def listed(names: str) -> list[str]:
    return [name for name in map(str.strip, names.split(",")) if name]
