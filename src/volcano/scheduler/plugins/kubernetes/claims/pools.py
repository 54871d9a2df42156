"""Devices that drivers offer, by node: the newest complete generation of every pool of ResourceSlices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from volcano.api import quantity
from volcano.api.core import Taint
from volcano.scheduler.cluster.nodes import Mask, NodeTable
from volcano.scheduler.plugins.kubernetes import node_terms, taints

if TYPE_CHECKING:
    from volcano.api.core import NodeSelector
    from volcano.api.core.dra import Device, DeviceTaint, DeviceTaintRule, ResourceSlice

DeviceId = tuple[str, str, str]
"""Driver, pool and name."""
Counter = tuple[str, str, str, str]
"""Driver, pool, counter set and counter."""
_REPELLING: Final = (taints.NO_SCHEDULE, taints.NO_EXECUTE)


@dataclass(frozen=True, slots=True)
class Offered:
    """A device, and where it can be used from."""

    id: DeviceId
    device: Device
    node_name: str = ""
    selector: NodeSelector | None = None
    taints: tuple[Taint, ...] = ()
    """Those that keep requests away that do not tolerate them: the driver's own, and those of administrators' rules."""

    @property
    def is_shared(self) -> bool:
        """Nodes have it in common."""
        return not self.node_name

    def uses(self) -> Iterable[tuple[Counter, int]]:
        driver, pool, _ = self.id
        for use in self.device.consumes_counters:
            for name, counter in use.counters.items():
                yield (driver, pool, use.counter_set, name), quantity.milli(counter.get("value", "0"))


class Pools:
    def __init__(
        self, nodes: NodeTable, slices: Iterable[ResourceSlice], rules: Iterable[DeviceTaintRule] = ()
    ) -> None:
        self._nodes = nodes
        self._rules = sorted(rules, key=lambda rule: rule.metadata.name)
        self._own: defaultdict[str, list[Offered]] = defaultdict(list)
        self._shared: list[tuple[Offered, Mask | None]] = []
        self.by_id: dict[DeviceId, Offered] = {}
        self.counters: dict[Counter, int] = {}
        self._order: dict[tuple[str, str], int] = {}
        """Of pools: those with devices that something must be done about before they can be used come last."""
        pools = _complete(slices)
        for place, key in enumerate(sorted(pools, key=lambda key: (_has_conditions(pools[key]), key))):
            self._order[key] = place
            for part in pools[key]:
                self._take_in(part)

    @property
    def are_local(self) -> bool:
        """No device can be used from more than one node."""
        return not self._shared

    def at(self, row: int) -> list[Offered]:
        found = [offered for offered, rows in self._shared if rows is None or rows[row]]
        found += self._own.get(self._nodes.names[row], ())
        return sorted(found, key=lambda offered: self._order[offered.id[:2]]) if self._shared else found

    def _take_in(self, part: ResourceSlice) -> None:
        spec = part.spec
        for group in spec.shared_counters:
            for name, counter in group.counters.items():
                key = (spec.driver, spec.pool.name, group.name, name)
                self.counters[key] = quantity.milli(counter.get("value", "0"))
        for device in spec.devices:
            place = device if spec.per_device_node_selection else spec
            identity = (spec.driver, spec.pool.name, device.name)
            repelling = tuple(_repelling([*device.taints, *self._of_rules(identity)]))
            offered = Offered(identity, device, place.node_name or "", place.node_selector, repelling)
            self.by_id[identity] = offered
            if offered.node_name:
                self._own[offered.node_name].append(offered)
            elif place.all_nodes:
                self._shared.append((offered, None))
            elif place.node_selector is not None:
                self._shared.append((offered, node_terms.selects(self._nodes, place.node_selector)))

    def _of_rules(self, identity: DeviceId) -> Iterable[DeviceTaint]:
        """A rule without a selector concerns no device, one with an empty selector every device."""
        for rule in self._rules:
            chosen = rule.spec.device_selector
            if chosen is not None and all(
                wanted in (None, name)
                for wanted, name in zip((chosen.driver, chosen.pool, chosen.device), identity, strict=True)
            ):
                yield rule.spec.taint


def _repelling(found: Iterable[DeviceTaint]) -> Iterable[Taint]:
    for taint in found:
        if taint.effect in _REPELLING:
            yield Taint(key=taint.key, value=taint.value, effect=taint.effect)


def _has_conditions(pool: Sequence[ResourceSlice]) -> bool:
    return any(device.binding_conditions for part in pool for device in part.spec.devices)


def _complete(slices: Iterable[ResourceSlice]) -> Mapping[tuple[str, str], Sequence[ResourceSlice]]:
    """By driver and pool, the slices of its newest generation, if they are all there."""
    pools: defaultdict[tuple[str, str], list[ResourceSlice]] = defaultdict(list)
    for part in slices:
        pools[part.spec.driver, part.spec.pool.name].append(part)
    found: dict[tuple[str, str], Sequence[ResourceSlice]] = {}
    for key, parts in pools.items():
        newest = max(part.spec.pool.generation for part in parts)
        current = [part for part in parts if part.spec.pool.generation == newest]
        if len(current) == current[0].spec.pool.resource_slice_count:
            found[key] = sorted(current, key=lambda part: part.metadata.name)
    return found
