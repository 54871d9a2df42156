"""hami: Ascend chips shared by memory, in the sizes of their templates, or by cores; one family per kind of chip.

hami_config.py says which chips there are; here are a node's register, the fit of one chip and the choice among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from volcano.scheduler.plugins.deviceshare.device import (
    BINPACK,
    SPREAD,
    Grant,
    Objection,
    limit,
    limit_or_request,
)
from volcano.scheduler.plugins.deviceshare.hami_config import Chip
from volcano.scheduler.plugins.deviceshare.holdings import Holding, decode

if TYPE_CHECKING:
    from volcano.api.core import Container, Node, Pod

LOCK: Final = "hami.io/mutex.lock"
CORE_SUPPORT: Final = "hami-vnpu-core"
POD_MODE: Final = "huawei.com/vnpu-mode"
HAMI_CORE: Final = "hami-core"
NETWORKED: Final = "Ascend910"
NETWORK_ID: Final = "NetworkID"
NETWORK_SCORE: Final = 10
ALL_CORES: Final = 100
NONE_AVAILABLE: Final = Objection("no ascend device available")
NO_DEVICES: Final = Objection("no ascend device available", resolvable=False)
PARTIAL: Final = Objection(
    "vNPU does not support partial memory allocation when requesting multiple devices", resolvable=False
)


class Registered(msgspec.Struct, frozen=True, rename="lower"):
    """One chip, as the node's annotation describes it."""

    id: str
    index: int = 0
    count: int = 0
    devmem: int = 0
    devcore: int = 0
    type: str = ""
    health: bool = True
    custom_info: dict[str, Any] | None = msgspec.field(default=None, name="custominfo")

    @property
    def network(self) -> Any:
        return (self.custom_info or {}).get(NETWORK_ID)


@dataclass(frozen=True, slots=True)
class Demand:
    count: int
    memory: int
    """0: all of it."""
    cores: int
    hami_core: bool = False


@dataclass(slots=True)
class Unit:
    """A chip and what is taken of it."""

    chip: Chip
    info: Registered
    core_support: bool = False
    used: int = 0
    memory_used: int = 0
    cores_used: int = 0

    def memory_for(self, demand: Demand) -> tuple[int, str]:
        """How much the demand takes, and the template of that size."""
        wanted = demand.memory or self.info.devmem
        return (wanted, "") if demand.hami_core else self.chip.template_for(wanted)

    def fits(self, demand: Demand, memory: int) -> bool:
        if not self.info.health or (demand.hami_core and not self.core_support):
            return False
        total = ALL_CORES if demand.hami_core else self.info.devcore
        if self.info.count <= self.used or self.info.devmem - self.memory_used < memory:
            return False
        if total - self.cores_used < demand.cores:
            return False
        wants_all = total == ALL_CORES and demand.cores == ALL_CORES and self.used > 0
        none_left = total != 0 and self.cores_used == total and demand.cores == 0
        return not wants_all and not none_left

    def score(self, policy: str) -> float:
        if not self.info.devmem:
            return 0.0
        if policy == BINPACK:
            return 100 * self.memory_used / self.info.devmem
        return 100.0 if policy == SPREAD and self.used == 0 else 0.0


@dataclass(frozen=True, slots=True)
class Hami:
    chip: Chip
    core_support: bool = False
    policy: str = ""

    @property
    def name(self) -> str:
        return self.chip.word

    @property
    def lock(self) -> str:
        return LOCK

    @property
    def uncounted(self) -> tuple[str, ...]:
        return (self.chip.memory_resource, f"{self.chip.resource}-core")

    @property
    def assigned_key(self) -> str:
        return f"hami.io/{self.chip.word}-devices-allocated"

    def wanted_by(self, pod: Pod) -> bool:
        return any(self.demand(container) is not None for container in pod.spec.containers)

    def demand(self, container: Container, *, hami_core: bool = False) -> Demand | None:
        count = limit(container, self.chip.resource)
        memory = limit_or_request(container, self.chip.memory_resource) or 0
        if count <= 0 and not memory:
            return None
        cores = limit_or_request(container, f"{self.chip.resource}-core") or 0
        return Demand(count or 1, memory, cores, hami_core)

    def on_node(self, node: Node) -> Units | None:
        register = node.metadata.annotations.get(f"hami.io/node-register-{self.chip.word}", "")
        if not register:
            return None
        said = node.metadata.annotations.get(CORE_SUPPORT)
        support = self.core_support if said is None else said == "true"
        try:
            found = msgspec.json.decode(register, type=list[Registered])
        except (msgspec.MsgspecError, RecursionError):
            return None
        return Units(self, {info.id: Unit(self.chip, info, support) for info in found})

    def stamps(self, node: str, now: float) -> Mapping[str, str]:
        seconds = str(int(now))
        return {
            "predicate-time": seconds,
            "hami.io/vgpu-node": node,
            "hami.io/vgpu-time": seconds,
            "hami.io/bind-phase": "allocating",
            "hami.io/bind-time": seconds,
        }


@dataclass(slots=True)
class Units:
    family: Hami
    units: dict[str, Unit]
    _held: dict[str, list[Holding]] = field(default_factory=dict)

    def offer(self, pod: Pod) -> Grant | Objection:
        if not self.units:
            return NO_DEVICES
        family = self.family
        hami_core = pod.metadata.annotations.get(POD_MODE) == HAMI_CORE
        taken: list[Unit] = []
        chosen: list[tuple[Demand | None, list[Unit]]] = []
        score = 0.0
        for container in pod.spec.containers:
            demand = family.demand(container, hami_core=hami_core)
            units: list[Unit] = []
            chosen.append((demand, units))
            if demand is None:
                continue
            if demand.count > 1 and self.is_partial(demand):
                return PARTIAL
            units += self._choose(demand, taken)
            if len(units) < demand.count:
                return NONE_AVAILABLE
            taken += units
            score += units[0].score(family.policy) + self._closeness(units)
        return Grant(_annotations(family, chosen), score)

    def charge(self, uid: str, pod: Pod, annotations: Mapping[str, str]) -> None:
        if uid in self._held:
            return
        groups = decode(annotations.get(self.family.assigned_key, ""))
        held = [holding for group in groups for holding in group if holding.uuid in self.units]
        if held:
            self._held[uid] = held
            self._count(held, 1)

    def release(self, uid: str) -> None:
        self._count(self._held.pop(uid, []), -1)

    def is_partial(self, demand: Demand) -> bool:
        """Whether it asks for less than whole chips; several of them are only given whole."""
        return any(unit.memory_for(demand)[0] != unit.chip.memory_allocatable for unit in self.units.values())

    def _choose(self, demand: Demand, taken: Sequence[Unit]) -> list[Unit]:
        """The best chips by policy; a chip serves one container of a pod."""
        policy = self.family.policy
        ranked = sorted(self.units.values(), key=lambda unit: (-unit.score(policy), unit.info.index))
        fitting = [unit for unit in ranked if unit not in taken and unit.fits(demand, unit.memory_for(demand)[0])]
        if self._has_networks():
            sizes = Counter(unit.info.network for unit in fitting)
            fitting.sort(key=lambda unit: (-sizes[unit.info.network], str(unit.info.network)))
        return fitting[: demand.count]

    def _has_networks(self) -> bool:
        return self.family.chip.word.startswith(NETWORKED) and all(
            unit.info.network is not None for unit in self.units.values()
        )

    def _closeness(self, units: Sequence[Unit]) -> float:
        if not self._has_networks():
            return 0.0
        return NETWORK_SCORE * max(Counter(unit.info.network for unit in units).values()) / len(units)

    def _count(self, held: Sequence[Holding], sign: int) -> None:
        for holding in held:
            unit = self.units[holding.uuid]
            unit.used += sign
            unit.memory_used += sign * holding.memory
            unit.cores_used += sign * holding.cores


def _annotations(family: Hami, chosen: Sequence[tuple[Demand | None, Sequence[Unit]]]) -> dict[str, str]:
    word = family.chip.word
    assigned = ""
    described: list[dict[str, Any]] = []
    for demand, units in chosen:
        for unit in units:
            assert demand is not None, "only a demand has units"
            memory, template = unit.memory_for(demand)
            assigned += f"{unit.info.id},{word},{memory},{demand.cores}:"
            entry: dict[str, Any] = {"UUID": unit.info.id}
            if demand.hami_core:
                entry |= {"memory": memory, "core": demand.cores}
            elif template:
                entry["temp"] = template
            described.append(entry)
        assigned += ";"
    return {
        f"hami.io/{word}-devices-to-allocate": assigned,
        family.assigned_key: assigned,
        f"huawei.com/{word}": msgspec.json.encode(described).decode(),
    }
