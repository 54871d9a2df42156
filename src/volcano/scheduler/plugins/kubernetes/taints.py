"""Taints and tolerations: evaluated once per distinct set of taints, then looked up by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from volcano.api import keys
from volcano.api.core import Taint
from volcano.scheduler.cluster.nodes import Column, Mask, NodeTable

if TYPE_CHECKING:
    from volcano.api.core import Toleration

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
UNSCHEDULABLE: Final = Taint(key=keys.TAINT_UNSCHEDULABLE, effect=NO_SCHEDULE)
"""What `spec.unschedulable` amounts to."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
    return False


def tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def repelled(nodes: NodeTable, tolerations: Sequence[Toleration]) -> Mask:
    """Per row of the table, whether some NoSchedule or NoExecute taint is not tolerated."""
    return np.asarray(_look_up(nodes, tolerations, (NO_SCHEDULE, NO_EXECUTE)) > 0)


def unloved(nodes: NodeTable, tolerations: Sequence[Toleration]) -> Column:
    """Per row of the table, how many PreferNoSchedule taints are not tolerated."""
    relevant = [toleration for toleration in tolerations if toleration.effect in ("", PREFER_NO_SCHEDULE)]
    return _look_up(nodes, relevant, (PREFER_NO_SCHEDULE,))


def _look_up(nodes: NodeTable, tolerations: Sequence[Toleration], effects: tuple[str, ...]) -> Column:
    """Per row, the number of taints with one of the effects that no toleration covers."""
    by_set = [
        sum(1 for taint in taints if taint.effect in effects and not tolerated(tolerations, taint))
        for taints in nodes.taint_sets
    ]
    found: Column = np.array(by_set, dtype=np.int64)[nodes.taint_set]
    return found
