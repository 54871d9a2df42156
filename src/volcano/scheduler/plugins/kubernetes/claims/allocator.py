"""Finds devices on one node for the claims of a pod: claims, their requests and devices in order, with backtracking."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from volcano.api.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from volcano.api.core.dra import AllocatedDevice, AllocatedDevices, ClaimAllocation
from volcano.scheduler.plugins.kubernetes import taints
from volcano.scheduler.plugins.kubernetes.claims.consumption import (
    Consumed,
    as_quantities,
    capacities,
    consumption,
    requested,
)
from volcano.scheduler.plugins.kubernetes.claims.pools import Counter, DeviceId, Offered
from volcano.scheduler.plugins.kubernetes.claims.selectors import Selectors, attribute, qualified

if TYPE_CHECKING:
    from volcano.api.core import DeviceClass, ResourceClaim
    from volcano.api.core.dra import DeviceConstraint, DeviceRequest, ExactRequest

ALL: Final = "All"
MOST_DEVICES: Final = 32
"""Of one claim."""
MOST_ALTERNATIVES: Final = 8
"""Of one request."""
MOST_STEPS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Market:
    """What there is to choose from, whatever the node."""

    classes: Mapping[str, DeviceClass]
    selectors: Selectors
    taken: frozenset[DeviceId] | set[DeviceId]
    shared: Mapping[DeviceId, Consumed]
    """What is used of devices that several may use."""
    counters: Mapping[Counter, int]
    """What is left of counters that devices share."""


@dataclass(frozen=True, slots=True)
class _Pick:
    claim: int
    request: str
    offered: Offered
    wanted: ExactRequest
    share: Consumed | None = None
    """What it takes of a device that others may use beside it."""

    @property
    def is_admin(self) -> bool:
        return bool(self.wanted.admin_access)


@dataclass(slots=True)
class Search:
    """One node and one pod. `run` gives an allocation per claim, or None."""

    node: str
    offered: Sequence[Offered]
    market: Market
    claims: Sequence[ResourceClaim]
    _picks: list[_Pick] = field(default_factory=list)
    _taken: set[DeviceId] = field(default_factory=set)
    _shared: dict[DeviceId, list[Consumed]] = field(default_factory=dict)
    """By device, the shares of the picks."""
    _counters: dict[Counter, int] = field(default_factory=dict)
    """Taken of them by the picks."""
    _steps: int = 0
    _suitable: dict[int, list[Offered]] = field(default_factory=dict)
    repelled_by: dict[str, None] = field(default_factory=dict)
    """Taints that kept requests from devices that would have suited them, in words."""

    def run(self) -> list[ClaimAllocation] | None:
        """Raises SelectorError where an expression of a class or a claim is broken."""
        order = [(i, request) for i, claim in enumerate(self.claims) for request in claim.spec.devices.requests]
        if not self._serve(order, 0):
            return None
        return [self._allocation(i, claim) for i, claim in enumerate(self.claims)]

    def _serve(self, order: Sequence[tuple[int, DeviceRequest]], at: int) -> bool:
        if at == len(order):
            return True
        claim, request = order[at]
        for name, wanted in alternatives(request):
            suitable = self._candidates(wanted)
            devices = [offered for offered in suitable if not self._is_repelled(offered, wanted)]
            if wanted.allocation_mode == ALL:  # all that suit: one that cannot be had, and there is nothing for it
                free = devices if wanted.admin_access else [o for o in devices if o.id not in self.market.taken]
                number = len(suitable) if len(free) == len(suitable) else 0
            else:
                number = wanted.count or 1
            enough = number <= len(devices) or _can_be_shared(devices)
            if number > 0 and enough and self._choose(order, at, (claim, name, wanted), devices, number):
                return True
        return False

    def _choose(
        self,
        order: Sequence[tuple[int, DeviceRequest]],
        at: int,
        what: tuple[int, str, ExactRequest],
        devices: Sequence[Offered],
        number: int,
    ) -> bool:
        """`number` of the devices, and whatever comes after them."""
        if number == 0:
            return self._serve(order, at + 1)
        claim, name, wanted = what
        last = len(devices) if _can_be_shared(devices) else len(devices) - number + 1
        for position in range(last):
            self._steps += 1
            if self._steps > MOST_STEPS:
                return False
            pick = _Pick(claim, name, devices[position], wanted, self._share(devices[position], wanted))
            if not self._admits(pick):
                continue
            self._count(pick, 1)
            after = position if pick.share is not None and wanted.allocation_mode != ALL else position + 1
            if self._choose(order, at, what, devices[after:], number - 1):
                return True
            self._count(pick, -1)
        return False

    def _candidates(self, wanted: ExactRequest) -> list[Offered]:
        found = self._suitable.get(id(wanted))
        if found is None:
            found = self._suitable[id(wanted)] = [o for o in self.offered if self._suits(o, wanted)]
        return found

    def _suits(self, offered: Offered, wanted: ExactRequest) -> bool:
        """Class and request select it, and nothing is asked for that is not known here."""
        device_class = self.market.classes.get(wanted.device_class_name)
        if device_class is None or not _is_large_enough(offered, wanted):
            return False
        expressions = [s.cel.expression for s in (*device_class.spec.selectors, *wanted.selectors) if s.cel is not None]
        driver = offered.id[0]
        return all(self.market.selectors.matches(text, driver, offered.device) for text in expressions)

    def _is_repelled(self, offered: Offered, wanted: ExactRequest) -> bool:
        found = [taint for taint in offered.taints if not taints.tolerated(wanted.tolerations, taint)]
        for taint in found:
            value = f"={taint.value}" if taint.value else ""
            self.repelled_by[f"{taint.key}{value}:{taint.effect}"] = None
        return bool(found)

    def _admits(self, pick: _Pick) -> bool:
        identity = pick.offered.id
        if sum(1 for other in self._picks if other.claim == pick.claim) >= MOST_DEVICES:
            return False
        if not pick.is_admin:
            if identity in self.market.taken or identity in self._taken or not self._leaves_room(pick):
                return False
            for counter, amount in () if self._is_in_use(identity) else pick.offered.uses():
                if self.market.counters.get(counter, 0) - self._counters.get(counter, 0) < amount:
                    return False
        constraints = self.claims[pick.claim].spec.devices.constraints
        return all(self._satisfies(pick, constraint) for constraint in constraints)

    def _share(self, offered: Offered, wanted: ExactRequest) -> Consumed | None:
        if not offered.device.allow_multiple_allocations or wanted.admin_access:
            return None
        driver = offered.id[0]
        return consumption(offered.device, driver, requested(wanted.capacity, driver))

    def _leaves_room(self, pick: _Pick) -> bool:
        """Whether what others use of a shared device and what this one wants of it is there."""
        if pick.share is None:
            return True
        identity = pick.offered.id
        others = [self.market.shared.get(identity, {}), *self._shared.get(identity, ())]
        whole = capacities(pick.offered.device, identity[0])
        return all(
            amount + sum(other.get(name, 0) for other in others) <= whole[name] for name, amount in pick.share.items()
        )

    def _is_in_use(self, identity: DeviceId) -> bool:
        return identity in self.market.shared or bool(self._shared.get(identity))

    def _satisfies(self, pick: _Pick, constraint: DeviceConstraint) -> bool:
        name = constraint.match_attribute or constraint.distinct_attribute
        if not name or not _concerns(constraint, pick.request):
            return True
        value = value_of(pick.offered, name)
        others = [
            value_of(other.offered, name)
            for other in self._picks
            if other.claim == pick.claim and _concerns(constraint, other.request)
        ]
        if value is None:
            return False
        if constraint.match_attribute:
            return all(other == value for other in others)
        return value not in others

    def _count(self, pick: _Pick, sign: int) -> None:
        if sign > 0:
            self._picks.append(pick)
        else:
            self._picks.pop()
        if pick.is_admin:
            return
        identity = pick.offered.id
        if pick.share is None:
            (self._taken.add if sign > 0 else self._taken.discard)(identity)
        elif sign < 0:
            self._shared[identity].pop()
        counted = not self._is_in_use(identity)  # users of one device use its counters once
        if pick.share is not None and sign > 0:
            self._shared.setdefault(identity, []).append(pick.share)
        for counter, amount in pick.offered.uses() if counted else ():
            self._counters[counter] = self._counters.get(counter, 0) + sign * amount

    def _allocation(self, number: int, claim: ResourceClaim) -> ClaimAllocation:
        picks = [pick for pick in self._picks if pick.claim == number]
        results = [
            AllocatedDevice(
                request=pick.request,
                driver=pick.offered.id[0],
                pool=pick.offered.id[1],
                device=pick.offered.id[2],
                admin_access=pick.wanted.admin_access,
                tolerations=pick.wanted.tolerations,
                share_id=_share_id(claim, pick, place) if pick.share is not None else None,
                consumed_capacity=as_quantities(pick.share or {}, pick.offered.device, pick.offered.id[0]),
                binding_conditions=pick.offered.device.binding_conditions,
                binding_failure_conditions=pick.offered.device.binding_failure_conditions,
            )
            for place, pick in enumerate(picks)
        ]
        devices = AllocatedDevices(results=results, config=self._config(claim, picks))
        return ClaimAllocation(devices=devices, node_selector=self._reach(picks))

    def _config(self, claim: ResourceClaim, picks: Sequence[_Pick]) -> list[dict[str, Any]]:
        """Parameters for the drivers: of the classes, then of the claim, as far as they concern what was chosen."""
        chosen = {pick.request: pick.wanted.device_class_name for pick in picks}
        found = [
            {**config, "source": "FromClass", "requests": [request]}
            for request, name in chosen.items()
            for config in self.market.classes[name].spec.config
        ]
        for config in claim.spec.devices.config:
            requests = config.get("requests") or []
            if not requests or any(names(request, entry) for entry in requests for request in chosen):
                found.append({**config, "source": "FromClaim"})
        return found

    def _reach(self, picks: Sequence[_Pick]) -> NodeSelector | None:
        """From which nodes all of these devices can be used; None: from all."""
        if any(not pick.offered.is_shared or pick.offered.device.binds_to_node for pick in picks):
            field_ = NodeSelectorRequirement(key="metadata.name", operator="In", values=[self.node])
            return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[field_])])
        selectors = [pick.offered.selector for pick in picks if pick.offered.selector is not None]
        terms = [term for selector in selectors for term in selector.node_selector_terms[:1]]
        if not terms:
            return None
        merged = NodeSelectorTerm(
            match_expressions=[entry for term in terms for entry in term.match_expressions],
            match_fields=[entry for term in terms for entry in term.match_fields],
        )
        return NodeSelector(node_selector_terms=[merged])


def preference(claims: Sequence[ResourceClaim], allocations: Sequence[ClaimAllocation]) -> int:
    """How near these allocations come to what the claims would like best, where they name alternatives."""
    total = 0
    for claim, allocation in zip(claims, allocations, strict=True):
        given = {result.request for result in allocation.devices.results}
        for request in claim.spec.devices.requests:
            if request.exactly is None:
                found = [place for place, (name, _) in enumerate(alternatives(request)) if name in given]
                total += MOST_ALTERNATIVES - found[0] if found else 0
    return total


def alternatives(request: DeviceRequest) -> list[tuple[str, ExactRequest]]:
    """What would serve a request, best first, with the name that it then has in results."""
    if request.exactly is not None:
        return [(request.name, request.exactly)]
    return [(f"{request.name}/{wanted.name}", wanted) for wanted in request.first_available]


def names(request: str, entry: str) -> bool:
    """Whether an entry of a list of requests means this one: by itself, or with its alternatives."""
    return entry in (request, request.partition("/")[0])


def value_of(offered: Offered, name: str) -> Any:
    """The value of an attribute by its full name; None if the device does not have it."""
    driver = offered.id[0]
    for key, value in offered.device.attributes.items():
        if "/".join(qualified(key, driver)) == name:
            return attribute(value)
    return None


def _is_large_enough(offered: Offered, wanted: ExactRequest) -> bool:
    """A device has all the capacity that is asked for, whether others use it or not."""
    if not wanted.capacity and not offered.device.allow_multiple_allocations:
        return True
    driver = offered.id[0]
    return consumption(offered.device, driver, requested(wanted.capacity, driver)) is not None


def _can_be_shared(devices: Sequence[Offered]) -> bool:
    return any(offered.device.allow_multiple_allocations for offered in devices)


def _share_id(claim: ResourceClaim, pick: _Pick, place: int) -> str:
    """Tells shares of one device apart; the same for the same decision."""
    return str(
        uuid.uuid5(uuid.NAMESPACE_URL, "/".join((claim.metadata.uid, pick.request, *pick.offered.id, str(place))))
    )


def _concerns(constraint: DeviceConstraint, request: str) -> bool:
    return not constraint.requests or any(names(request, entry) for entry in constraint.requests)
