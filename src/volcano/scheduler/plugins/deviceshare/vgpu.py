"""vgpu: shared NVIDIA cards by count, memory and cores, or as MIG instances (family `hamivgpu`).

cards.py knows one card and who may have it; here are the node's register, the pod's wishes and the scan of cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from volcano.api import keys, quantity
from volcano.scheduler.plugins.deviceshare.cards import Card, Demand, Wishes, pod_group_key
from volcano.scheduler.plugins.deviceshare.device import (
    BINPACK,
    SPREAD,
    Grant,
    Objection,
    limit,
    limit_or_request,
    whole,
)
from volcano.scheduler.plugins.deviceshare.exclusive import Rule, matching
from volcano.scheduler.plugins.deviceshare.holdings import Holding, decode, encode
from volcano.scheduler.plugins.deviceshare.mig import Geometry, Model

if TYPE_CHECKING:
    from volcano.api.core import Node, Pod

NAME: Final = "hamivgpu"
HAMI_CORE: Final = "hami-core"
MIG: Final = "mig"
REGISTER_FIELDS: Final = 6
NO_PERCENTAGE: Final = 101
"""Means that the pod does not say."""


class Names(msgspec.Struct, frozen=True):
    """Section `nvidia` of the device configuration."""

    count: str = msgspec.field(default=keys.VGPU_NUMBER, name="resourceCountName")
    memory: str = msgspec.field(default=keys.VGPU_MEMORY, name="resourceMemoryName")
    cores: str = msgspec.field(default=keys.VGPU_CORES, name="resourceCoreName")
    percentage: str = msgspec.field(default="", name="resourceMemoryPercentageName")
    memory_factor: int = msgspec.field(default=1, name="gpuMemoryFactor")
    models: tuple[Model, ...] = msgspec.field(default=(), name="knownMigGeometries")


DEFAULT_NAMES: Final = Names()


@dataclass(frozen=True, slots=True)
class Vgpu:
    policy: str = ""
    names: Names = DEFAULT_NAMES
    rules: Sequence[Rule] = ()
    name: str = NAME
    uncounted: tuple[str, ...] = ()
    lock: str = NAME

    def wanted_by(self, pod: Pod) -> bool:
        return any(demand is not None for demand in demands(pod, self.names))

    def on_node(self, node: Node) -> Cards | None:
        register = node.metadata.annotations.get(keys.VGPU_REGISTER, "")
        offered = node.status.allocatable
        resources = (keys.VGPU_NUMBER, keys.VGPU_MEMORY, keys.VGPU_CORES)
        if not register or any(quantity.units(offered.get(name, 0)) <= 0 for name in resources):
            return None
        return Cards(self, *parse_register(register, self.names.models))

    def stamps(self, node: str, now: float) -> Mapping[str, str]:
        seconds = str(int(now))
        return {
            keys.VGPU_NODE: node,
            keys.VGPU_TIME: seconds,
            keys.DEVICE_BIND_PHASE: "allocating",
            keys.DEVICE_BIND_TIME: seconds,
        }


def demands(pod: Pod, names: Names) -> list[Demand | None]:
    """What each container wants; memory alone means one card. Init containers have no say."""
    found: list[Demand | None] = []
    for container in pod.spec.containers:
        count = limit(container, names.count)
        memory = limit_or_request(container, names.memory)
        if count <= 0 and not memory:
            found.append(None)
            continue
        percentage = limit_or_request(container, names.percentage)
        if percentage is None:
            percentage = NO_PERCENTAGE if memory else 100
        share = None if percentage == NO_PERCENTAGE else percentage
        found.append(Demand(count or 1, memory or 0, share, limit_or_request(container, names.cores) or 0))
    return found


def parse_register(text: str, models: Sequence[Model] = ()) -> tuple[list[Card], str]:
    """The node's cards and its mode, which is the last card's."""
    cards: list[Card] = []
    mode = HAMI_CORE
    for entry in filter(None, text.split(":")):
        fields = entry.split(",")
        if len(fields) < REGISTER_FIELDS:
            continue
        uuid, sharers, memory, kind, health, wanted_mode = fields[:REGISTER_FIELDS]
        geometries = _geometries(kind, models) if wanted_mode == MIG else ()
        mode = MIG if geometries else HAMI_CORE
        cards.append(
            Card(len(cards), uuid, kind, whole(sharers) or 0, whole(memory) or 0, geometries, health != "false")
        )
    return cards, mode


def _geometries(kind: str, models: Sequence[Model]) -> tuple[Geometry, ...]:
    return next((m.geometries for m in models if any(name in kind for name in m.models)), ())


@dataclass(slots=True)
class Cards:
    family: Vgpu
    cards: list[Card]
    mode: str = HAMI_CORE
    _rules: dict[str, frozenset[int]] = field(default_factory=dict)
    """Exclusive rules that the pods on the cards match."""

    def offer(self, pod: Pod) -> Grant | Objection:
        names, policy = self.family.names, self.family.policy
        wishes = Wishes.of(pod)
        if wishes.mode and wishes.mode != self.mode:
            return Objection(f"vgpu mode {wishes.mode} is wanted, the node has {self.mode}", resolvable=False)
        if not any(wishes.allow_uuid(card.uuid) for card in self.cards):
            return Objection(f"no GPU matches UUID constraints {wishes.uuid_text}", resolvable=False)
        hidden = self._hidden(pod)
        cards = [card.copy() for card in self.cards]
        factor = names.memory_factor if self.mode == MIG else 1
        groups: list[list[Holding]] = []
        score = 0.0
        for demand in demands(pod, names):
            held: list[Holding] = []
            groups.append(held)
            if demand is None:
                continue
            if demand.count > len(cards):
                return Objection("no enough gpu cards on the node", resolvable=False)
            for card in in_order(cards, policy):
                if len(held) == demand.count:
                    break
                if card.number in hidden and card.sharers:
                    continue
                before = card_score(card, policy) if policy == SPREAD else 0.0
                holding = card.take(demand, wishes, factor)
                if holding is not None:
                    held.append(holding)
                    score += before if policy == SPREAD else card_score(card, policy)
            if len(held) < demand.count:
                return Objection("not enough gpu fitted on this node")
        ids = encode(groups)
        return Grant({keys.VGPU_IDS: ids, keys.DEVICES_TO_ALLOCATE: ids}, score)

    def charge(self, uid: str, pod: Pod, annotations: Mapping[str, str]) -> None:
        holdings = [holding for group in decode(annotations.get(keys.VGPU_IDS, "")) for holding in group]
        factor = self.family.names.memory_factor
        for holding in holdings:
            for card in self.cards:
                if card.has(holding.uuid):
                    card.charge(uid, holding, pod_group_key(pod), factor)
        if holdings:
            self._rules[uid] = matching(pod, self.family.rules)

    def release(self, uid: str) -> None:
        self._rules.pop(uid, None)
        for card in self.cards:
            card.release(uid)

    def _hidden(self, pod: Pod) -> set[int]:
        """Cards of other pods that match the same rule."""
        mine = matching(pod, self.family.rules) if self.mode == HAMI_CORE else frozenset()
        rivals = {uid for uid, rules in self._rules.items() if rules & mine}
        return {card.number for card in self.cards if not rivals.isdisjoint(card.holders)}


def in_order(cards: Sequence[Card], policy: str) -> list[Card]:
    match policy:
        case "binpack":
            return sorted(cards, key=lambda card: (-card.memory_used, card.number))
        case "spread":
            return sorted(cards, key=lambda card: (card.sharers, card.number))
    return sorted(cards, key=lambda card: -card.number)


def card_score(card: Card, policy: str) -> float:
    if policy == BINPACK:
        return 100 * card.memory_used / card.memory if card.memory else 0.0
    return 100.0 if policy == SPREAD and card.sharers == 0 else 0.0
