"""What the scheduler's command line decides about decisions; flags that only concern the daemon are not here."""

from __future__ import annotations

from dataclasses import dataclass, field

SHARD_NONE = "none"
SHARD_SOFT = "soft"
"""Nodes of the own shard are preferred."""
SHARD_HARD = "hard"
"""Other nodes are not used."""
QUEUE_ADMISSION_GATES = "SchedulingGatesQueueAdmission"
"""Feature gate: pods that ask for it wait behind a scheduling gate until their queue has room."""


@dataclass(frozen=True, slots=True)
class Options:
    scheduler_names: tuple[str, ...] = ("volcano",)
    default_queue: str = "default"
    percentage_nodes_to_find: int = 0
    """0: look at all nodes. Above: stop after that share of feasible ones, as upstream does."""
    minimum_feasible_nodes: int = 100
    feature_gates: dict[str, bool] = field(default_factory=dict)
    sharding_mode: str = SHARD_NONE
    """Any other word than soft and hard means none, as upstream has it."""
    sharding_name: str = "volcano"
    """The NodeShard that says which nodes are this scheduler's own."""
    ignored_provisioners: tuple[str, ...] = ()
    full_report: bool = False
    """Report every job, task and queue, not only those that the cycle looked at."""
    patience_seconds: float | None = None
    """Say nothing of waits shorter than this, and nothing of tasks that do not wait. None: tell everything at once."""

    @property
    def shares_nodes(self) -> bool:
        return self.sharding_mode in (SHARD_SOFT, SHARD_HARD)

    def gate(self, name: str, default: bool) -> bool:
        return self.feature_gates.get(name, default)


def nodes_to_find(total: int, options: Options) -> int:
    """How many feasible nodes are enough. All of them, unless a percentage is set."""
    percentage = options.percentage_nodes_to_find
    if percentage <= 0 or percentage >= 100 or total <= options.minimum_feasible_nodes:
        return total
    return max(total * percentage // 100, options.minimum_feasible_nodes)
