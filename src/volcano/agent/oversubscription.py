"""How much a node offers again of what is allocated but not used. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from volcano.agent.qos import Amount, BatchNames
from volcano.api import quantity

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject, ResourceList

SAMPLES: Final = 10
SURELY_EVERY: Final = 6
"""Rounds after which even a small change is reported."""
_NOTABLE_PERCENT: Final = 10


def spare(total: Amount, usage: Amount, ratio: int) -> Amount:
    """`ratio` percent of what is not used; never less than nothing."""
    return Amount(
        max(0, total.cpu - usage.cpu) * ratio // 100,
        max(0, total.memory - usage.memory) * ratio // 100,
    )


class Window:
    """The last samples; each weighs twice as much as the one before it."""

    def __init__(self) -> None:
        self._samples: deque[Amount] = deque(maxlen=SAMPLES)

    def add(self, sample: Amount) -> None:
        self._samples.append(sample)

    def clear(self) -> None:
        self._samples.clear()

    def value(self, types: Collection[str] = ("cpu", "memory")) -> Amount:
        """The weighted mean; a resource that is not among `types` is not offered."""
        weights = (1 << len(self._samples)) - 1
        if not weights:
            return Amount()
        cpu = sum(sample.cpu << index for index, sample in enumerate(self._samples)) // weights
        memory = sum(sample.memory << index for index, sample in enumerate(self._samples)) // weights
        return Amount(cpu if "cpu" in types else 0, memory if "memory" in types else 0)


def worth_reporting(reported: Amount | None, now: Amount, rounds: int) -> bool:
    """Whether the node's status is to be patched, `rounds` after it last was."""
    if reported is None or rounds >= SURELY_EVERY:
        return True
    pairs = ((reported.cpu, now.cpu), (reported.memory, now.memory))
    return any(abs(after - before) * 100 > before * _NOTABLE_PERCENT for before, after in pairs)


def status_patch(amount: Amount | None, names: BatchNames) -> JsonObject:
    """The merge patch of a node's status that offers `amount`; None takes the offer back."""
    offered = {
        names.cpu: None if amount is None else str(quantity.of_units(amount.cpu)),
        names.memory: None if amount is None else str(quantity.of_units(amount.memory, "BinarySI")),
    }
    return {"status": {"capacity": offered, "allocatable": offered}}


def offers(names: BatchNames, *amounts: ResourceList) -> bool:
    """Whether a node's capacity or allocatable resources show an offer."""
    return any(name in one for one in amounts for name in (names.cpu, names.memory))
