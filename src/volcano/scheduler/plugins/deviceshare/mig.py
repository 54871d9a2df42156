"""MIG: a card that is cut into instances by one of a few geometries, as its model allows. vgpu.py gives them away."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

_ID: Final = re.compile(r"^(?P<card>.*)\[(?P<group>.+)-(?P<position>\d+)\]$")


class Instance(msgspec.Struct, frozen=True):
    name: str
    memory: int
    count: int = 1


class Geometry(msgspec.Struct, frozen=True):
    """Instances that a card offers at the same time; positions count through them in order."""

    group: str = ""
    instances: tuple[Instance, ...] = ()

    def at(self, position: int) -> Instance | None:
        for instance in self.instances:
            if position < instance.count:
                return instance
            position -= instance.count
        return None


class Model(msgspec.Struct, frozen=True):
    """Cards whose type contains one of `models` may be cut like this."""

    models: tuple[str, ...] = ()
    geometries: tuple[Geometry, ...] = msgspec.field(default=(), name="allowedGeometries")


class Slot(msgspec.Struct, frozen=True):
    group: str
    position: int
    memory: int


def find(geometries: Sequence[Geometry], group: str, taken: Collection[int], memory: int) -> Slot | None:
    """The smallest free instance with enough memory. A card with pods keeps its geometry, `group`."""
    for geometry in geometries:
        if group and geometry.group != group:
            continue
        before = 0
        best: Slot | None = None
        for instance in geometry.instances:
            free = next((p for p in range(before, before + instance.count) if p not in taken), None)
            before += instance.count
            if free is not None and instance.memory >= memory and (best is None or instance.memory < best.memory):
                best = Slot(geometry.group, free, instance.memory)
        if best is not None:
            return best
    return None


def instance_id(card: str, slot: Slot) -> str:
    return f"{card}[{slot.group}-{slot.position}]"


def parse_id(text: str) -> tuple[str, str, int] | None:
    """Card, group and position; None if it is no instance of a card."""
    found = _ID.match(text)
    return (found["card"], found["group"], int(found["position"])) if found else None


def slot_at(geometries: Sequence[Geometry], group: str, position: int) -> Slot | None:
    for geometry in geometries:
        instance = geometry.at(position) if geometry.group == group else None
        if instance is not None:
            return Slot(group, position, instance.memory)
    return None
