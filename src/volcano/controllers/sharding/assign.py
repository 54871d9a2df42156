"""Divides nodes between schedulers: in their order, each filters, ranks and takes from what is left.

Pure. Called by controller.py with the use of all nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from volcano.api import keys
from volcano.controllers.sharding.config import ALLOCATION_RATE, NODE_LIMIT, WARMUP

if TYPE_CHECKING:
    from volcano.controllers.sharding.config import PolicyConfig, SchedulerConfig


@dataclass(frozen=True, slots=True)
class NodeUse:
    """A node: the shares of its processors and memory that are asked for, 0 to 1."""

    name: str
    cpu: float = 0.0
    memory: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)


Filter: TypeAlias = Callable[[NodeUse], bool]
Score: TypeAlias = Callable[[NodeUse], float]


class Pipeline:
    """The policies of one scheduler."""

    def __init__(self, policies: Iterable[PolicyConfig]) -> None:
        self._filters: list[Filter] = []
        self._scores: list[tuple[float, Score]] = []
        self._most: list[int] = []
        for policy in policies:
            self._add(policy.name, policy.weight or 1.0, policy.arguments)

    def take(self, nodes: Iterable[NodeUse]) -> list[str]:
        """The nodes this scheduler gets of those that are left, best first."""
        fit = [node for node in nodes if all(passes(node) for passes in self._filters)]
        fit.sort(key=lambda node: -sum(weight * score(node) for weight, score in self._scores))
        return [node.name for node in fit[: min(self._most, default=len(fit))]]

    def _add(self, name: str, weight: float, arguments: Mapping[str, Any]) -> None:
        match name:
            case _ if name == ALLOCATION_RATE:
                low, high = float(arguments.get("minCPUUtil", 0.0)), float(arguments.get("maxCPUUtil", 1.0))
                self._filters.append(lambda node: low <= round(node.cpu, 2) <= high)
                self._scores.append((weight, lambda node: _position(node.cpu, low, high)))
            case _ if name == WARMUP:
                key = str(arguments.get("warmupLabel", keys.NODE_WARMUP))
                value = str(arguments.get("warmupLabelValue", "true"))
                self._scores.append((weight, lambda node: float(node.labels.get(key) == value)))
            case _ if name == NODE_LIMIT:
                most = int(arguments.get("maxNodes", 0))
                if most > 0:
                    self._most.append(most)


def assign(schedulers: Sequence[SchedulerConfig], nodes: Iterable[NodeUse]) -> dict[str, list[str]]:
    """The nodes of each scheduler, none in two of them."""
    left = {node.name: node for node in sorted(nodes, key=lambda node: node.name)}
    found: dict[str, list[str]] = {}
    for scheduler in schedulers:
        found[scheduler.name] = Pipeline(scheduler.all_policies()).take(left.values())
        for name in found[scheduler.name]:
            del left[name]
    return found


def differs_enough(present: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a shard is worth writing: its size changed, or a tenth of its nodes (at least one) is new."""
    new = len(set(wanted) - set(present))
    return len(present) != len(wanted) or new >= max(1, len(wanted) // 10)


def _position(share: float, low: float, high: float) -> float:
    if low == high:
        return 1.0
    return min(max((share - low) / (high - low), 0.0), 1.0)
