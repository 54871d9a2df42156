"""One shared NVIDIA card: what is taken of it, and who may have more. vgpu.py scans the cards of a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from volcano.api import keys
from volcano.scheduler.plugins.deviceshare import mig
from volcano.scheduler.plugins.deviceshare.device import SPREAD, listed
from volcano.scheduler.plugins.deviceshare.holdings import Holding
from volcano.scheduler.plugins.deviceshare.mig import Geometry

if TYPE_CHECKING:
    from volcano.api.core import Pod

VENDOR: Final = "NVIDIA"
USE_TYPE: Final = "nvidia.com/use-gputype"
NO_USE_TYPE: Final = "nvidia.com/nouse-gputype"
ALL_CORES: Final = 100


@dataclass(frozen=True, slots=True)
class Demand:
    """What one container wants: so many cards, of each so much memory (or a share of it) and cores."""

    count: int
    memory: int
    percentage: int | None
    cores: int

    def memory_of(self, card: Card) -> int:
        return self.memory if self.percentage is None else card.memory * self.percentage // 100


@dataclass(frozen=True, slots=True)
class Wishes:
    """Which cards a pod accepts, by its annotations."""

    mode: str = ""
    group: str = ""
    apart: bool = False
    """Never two pods of its group on one card."""
    use_uuids: frozenset[str] | None = None
    no_uuids: frozenset[str] | None = None
    use_types: tuple[str, ...] = ()
    no_types: tuple[str, ...] = ()
    uuid_text: str = ""

    @classmethod
    def of(cls, pod: Pod) -> Wishes:
        annotations = pod.metadata.annotations
        use, avoid = (annotations.get(key, "") for key in (keys.VGPU_USE_UUID, keys.VGPU_NO_USE_UUID))
        return cls(
            mode=annotations.get(keys.VGPU_MODE, ""),
            group=pod_group_key(pod),
            apart=annotations.get(keys.VGPU_POD_GROUP_POLICY) == SPREAD,
            use_uuids=uuids(use),
            no_uuids=uuids(avoid),
            use_types=tuple(entry.upper() for entry in listed(annotations.get(USE_TYPE, ""))),
            no_types=tuple(entry.upper() for entry in listed(annotations.get(NO_USE_TYPE, ""))),
            uuid_text=f'{keys.VGPU_USE_UUID}="{use}", {keys.VGPU_NO_USE_UUID}="{avoid}"',
        )

    def allow_uuid(self, uuid: str) -> bool:
        if self.use_uuids is not None and uuid not in self.use_uuids:
            return False
        return self.no_uuids is None or (bool(uuid) and uuid not in self.no_uuids)

    def allow_type(self, kind: str) -> bool:
        upper = kind.upper()
        if self.use_types:
            return any(entry in upper for entry in self.use_types)
        return not any(entry in upper for entry in self.no_types)


def uuids(text: str) -> frozenset[str] | None:
    """None: no constraint."""
    return frozenset(listed(text)) or None


def pod_group_key(pod: Pod) -> str:
    annotations = pod.metadata.annotations
    group = annotations.get(keys.GROUP_NAME) or annotations.get(keys.VOLCANO_GROUP_NAME, "")
    return f"{pod.metadata.namespace}/{group}" if group else ""


@dataclass(frozen=True, slots=True)
class Held:
    """What one pod holds of the card, all its containers together."""

    group: str = ""
    times: int = 0
    memory: int = 0
    cores: int = 0
    positions: tuple[int, ...] = ()


@dataclass(slots=True)
class Card:
    number: int
    uuid: str
    kind: str
    max_sharers: int
    memory: int
    geometries: Sequence[Geometry] = ()
    healthy: bool = True
    sharers: int = 0
    memory_used: int = 0
    cores_used: int = 0
    geometry: str = ""
    """The geometry that its pods have fixed."""
    taken: set[int] = field(default_factory=set)
    """Positions of its instances in use."""
    holders: dict[str, Held] = field(default_factory=dict)

    def copy(self) -> Card:
        return replace(self, taken=set(self.taken))  # the holders are only read in a trial

    def has(self, device: str) -> bool:
        """Whether this is the card itself, or one of its instances."""
        return device == self.uuid or device.startswith(f"{self.uuid}[")

    def take(self, demand: Demand, wishes: Wishes, memory_factor: int = 1) -> Holding | None:
        """Count the demand in, or None if the card is not for it. For trials, on a copy."""
        memory = demand.memory_of(self)
        if not self._admits(demand, wishes, memory):
            return None
        if not self.geometries:
            self._add(1, memory, demand.cores)
            return Holding(self.uuid, self.kind, memory, demand.cores)
        slot = mig.find(self.geometries, self.geometry, self.taken, memory * max(memory_factor, 1))
        if slot is None:
            return None
        self.geometry = slot.group
        self.taken.add(slot.position)
        memory = slot.memory // max(memory_factor, 1)
        self._add(1, memory, demand.cores)
        return Holding(mig.instance_id(self.uuid, slot), self.kind, memory, demand.cores)

    def charge(self, uid: str, holding: Holding, group: str, memory_factor: int = 1) -> None:
        before = self.holders.get(uid, Held(group))
        memory, positions = holding.memory, before.positions
        instance = mig.parse_id(holding.uuid)
        if instance is not None:
            _, self.geometry, position = instance
            slot = mig.slot_at(self.geometries, self.geometry, position)
            memory = slot.memory // max(memory_factor, 1) if slot is not None else memory
            positions = (*positions, position)
            self.taken.add(position)
        self._add(1, memory, holding.cores)
        self.holders[uid] = Held(
            before.group, before.times + 1, before.memory + memory, before.cores + holding.cores, positions
        )

    def release(self, uid: str) -> None:
        held = self.holders.pop(uid, None)
        if held is None:
            return
        self._add(-held.times, -held.memory, -held.cores)
        self.taken -= set(held.positions)
        if not self.taken:
            self.geometry = ""

    def has_pod_of(self, group: str) -> bool:
        return bool(group) and any(h.group == group and (h.memory or h.cores) for h in self.holders.values())

    def _admits(self, demand: Demand, wishes: Wishes, memory: int) -> bool:
        if (
            not self.healthy
            or not wishes.allow_uuid(self.uuid)
            or VENDOR not in self.kind
            or not wishes.allow_type(self.kind)
        ):
            return False
        if self.sharers >= self.max_sharers or (wishes.apart and self.has_pod_of(wishes.group)):
            return False
        if self.memory - self.memory_used < memory or self.cores_used + demand.cores > ALL_CORES:
            return False
        wants_all = demand.cores == ALL_CORES and self.sharers > 0
        none_left = self.cores_used == ALL_CORES and demand.cores == 0
        return not wants_all and not none_left

    def _add(self, sharers: int, memory: int, cores: int) -> None:
        self.sharers += sharers
        self.memory_used += memory
        self.cores_used += cores
