"""gpushare: NVIDIA cards by memory (several pods on a card) or by number (whole cards).

Pods ask in their limits, nodes offer in their capacity; the annotation gpu-index names a pod's cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from volcano.api import keys, quantity
from volcano.scheduler.plugins.deviceshare.device import Grant, Objection, limit, listed, whole

if TYPE_CHECKING:
    from volcano.api.core import Node, Pod

NAME: Final = "GpuShare"
MEMORY_SHORT: Final = Objection("GpuShare: no card has enough free memory")
CARDS_SHORT: Final = Objection("GpuNumber: not enough free cards")


def needed(pod: Pod, resource: str) -> int:
    """The containers run together, init containers before them, one after another."""
    together = sum(limit(container, resource) for container in pod.spec.containers)
    return max([together, *(limit(container, resource) for container in pod.spec.init_containers)])


def card_ids(text: str) -> frozenset[int]:
    return frozenset(number for entry in listed(text) if (number := whole(entry)) is not None)


@dataclass(frozen=True, slots=True)
class GpuShare:
    by_memory: bool = True
    name: str = NAME
    uncounted: tuple[str, ...] = ()

    @property
    def resource(self) -> str:
        return keys.GPU_MEMORY if self.by_memory else keys.GPU_NUMBER

    @property
    def lock(self) -> str:
        return "gpu" if self.by_memory else ""

    def wanted_by(self, pod: Pod) -> bool:
        return needed(pod, self.resource) > 0

    def on_node(self, node: Node) -> Cards | None:
        capacity = node.status.capacity
        memory, number = (quantity.units(capacity.get(name, 0)) for name in (keys.GPU_MEMORY, keys.GPU_NUMBER))
        if number <= 0:
            return None
        broken = card_ids(node.metadata.annotations.get(keys.GPU_UNHEALTHY_IDS, ""))
        healthy = [card for card in range(number) if card not in broken]
        return Cards(dict.fromkeys(healthy, memory // number), by_memory=self.by_memory)

    def stamps(self, node: str, now: float) -> Mapping[str, str]:
        return {keys.PREDICATE_TIME: str(int(now * 1e9))}


class Cards:
    def __init__(self, memory: Mapping[int, int], *, by_memory: bool) -> None:
        self._memory = memory
        self._by_memory = by_memory
        self._held: dict[str, tuple[AbstractSet[int], int]] = {}
        """Per pod its cards, and the memory that it takes on each."""

    def offer(self, pod: Pod) -> Grant | Objection:
        if self._by_memory:
            need = needed(pod, keys.GPU_MEMORY)
            card = next((card for card, idle in sorted(self.idle().items()) if idle >= need), None)
            return MEMORY_SHORT if card is None else _grant([card])
        number = needed(pod, keys.GPU_NUMBER)
        taken = {card for cards, _ in self._held.values() for card in cards}
        free = [card for card in sorted(self._memory) if card not in taken]
        return CARDS_SHORT if len(free) < number else _grant(free[:number])

    def charge(self, uid: str, pod: Pod, annotations: Mapping[str, str]) -> None:
        cards = card_ids(annotations.get(keys.GPU_INDEX, ""))
        if cards:
            self._held[uid] = (cards, needed(pod, keys.GPU_MEMORY))

    def release(self, uid: str) -> None:
        self._held.pop(uid, None)

    def idle(self) -> dict[int, int]:
        """Free memory by card."""
        idle = dict(self._memory)
        for cards, memory in self._held.values():
            for card in cards & idle.keys():
                idle[card] -= memory
        return {card: max(free, 0) for card, free in idle.items()}


def _grant(cards: list[int]) -> Grant:
    return Grant({keys.GPU_INDEX: ",".join(map(str, cards))})
