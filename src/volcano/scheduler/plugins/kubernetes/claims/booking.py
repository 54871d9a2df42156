"""Who gets which devices while claims are allocated: promises of a session, decisions until the API shows them.

pods.py knows the claims, allocator.py finds devices on one node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from volcano.scheduler.cluster.nodes import Index, Mask
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.decisions import DeviceAllocation, OwnClaim
from volcano.scheduler.plugins.kubernetes import node_terms
from volcano.scheduler.plugins.kubernetes.claims import selectors
from volcano.scheduler.plugins.kubernetes.claims.allocator import Market, Search, preference
from volcano.scheduler.plugins.kubernetes.claims.consumption import Consumed, from_quantities
from volcano.scheduler.plugins.kubernetes.claims.extended import MARK, ExtendedResources
from volcano.scheduler.plugins.kubernetes.claims.pods import (
    CLAIMS,
    CLASSES,
    SLICES,
    TAINT_RULES,
    PodClaims,
    claims_of,
    has_claims,
    has_failed,
    is_lost,
)
from volcano.scheduler.plugins.kubernetes.claims.pools import Counter, DeviceId, Pools

if TYPE_CHECKING:
    from volcano.api.core import Pod, ResourceClaim
    from volcano.api.core.dra import ClaimAllocation
    from volcano.scheduler.cluster.cluster import Cluster


@dataclass(slots=True)
class Promise:
    allocation: ClaimAllocation
    tasks: set[str] = field(default_factory=set)
    own: OwnClaim | None = None
    """The claim is yet to be created."""


class Decided:
    """One for a cluster: allocations that are on their way to the API server, by claim."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._selectors = selectors.WhenAsked()
        self._market: tuple[tuple[int, ...], Pools, selectors.Selectors] | None = None
        self.by_claim: dict[str, Promise] = {}

    def refresh(self) -> None:
        """Forget what the API server shows by now, and what is not wanted any more."""
        claims = self._cluster.objects[CLAIMS]
        for key, promise in list(self.by_claim.items()):
            claim = claims.get(key)
            if claim is None:
                visible = promise.own is None
            else:
                visible = claim.status.allocation is not None and not is_lost(claim)
            if visible or not any(self._waits(uid) for uid in promise.tasks):
                del self.by_claim[key]

    @property
    def market(self) -> tuple[Pools, selectors.Selectors]:
        """What drivers offer, and which of it expressions select; made anew when slices, rules or nodes change."""
        cluster = self._cluster
        versions = (cluster.object_versions[kind] for kind in (SLICES, TAINT_RULES))
        version = (*versions, cluster.nodes.object_changes.cursor)
        if self._market is None or self._market[0] != version:
            pools = Pools(cluster.nodes, cluster.objects[SLICES].values(), cluster.objects[TAINT_RULES].values())
            self._market = version, pools, selectors.Remembered(self._selectors)
        return self._market[1:]

    def _waits(self, uid: str) -> bool:
        task = self._cluster.tasks.get(uid)
        return task is not None and task.node_name != ""


class DeviceBooking:
    """For one session."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._decided = cluster.index(Decided)
        self._decided.refresh()
        self._extended = cluster.index(ExtendedResources)
        self._promises = {key: Promise(p.allocation, set(p.tasks), p.own) for key, p in self._decided.by_claim.items()}
        self._version = 0
        self._seen: dict[int, int] = {}
        self._market: tuple[int, Market] | None = None
        self._found: dict[tuple[int, int], list[ClaimAllocation] | None] = {}
        """By profile and row, as long as nothing is promised or given back."""
        self._repelled: dict[tuple[int, int], tuple[str, ...]] = {}
        """Of those for which nothing was found, the taints of devices that would have suited otherwise."""

    def problem(self, task: Task) -> str:
        """Why the pod's claims keep it from every node."""
        return claims_of(self._cluster, task.pod).problem if has_claims(task.pod) else ""

    def concerns(self, pod: Pod) -> bool:
        """Whether devices are found for it here."""
        return has_claims(pod) or self._extended.concerns(pod)

    def couples(self, profile: Profile) -> bool:
        return self.concerns(profile.pod)

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        if not self.concerns(profile.pod) or self._seen.get(profile.id, 0) == self._version:
            return changed[:0]
        self._seen[profile.id] = self._version
        shares_claims = any(entry.resource_claim_name for entry in profile.pod.spec.resource_claims)
        return None if shares_claims or not self.pools.are_local else changed[:0]

    def reachable(self, profile: Profile) -> Mask:
        """Nodes from which every device that the pod already has can be used."""
        claims = claims_of(self._cluster, profile.pod)
        rows = np.ones(self._cluster.nodes.capacity, dtype=np.bool_)
        for allocation in self._allocations(claims):
            if allocation.node_selector is not None:
                rows &= node_terms.selects(self._cluster.nodes, allocation.node_selector)
        if any(has_failed(claim) for claim in claims.allocated):
            rows[:] = False
        return rows

    def search(self, profile: Profile, row: int) -> list[ClaimAllocation] | None:
        """Devices on that node for what is not allocated yet; raises SelectorError."""
        key = (profile.id, row)
        if key not in self._found:
            search = self._searching(self._wanted(profile, row), row)
            self._found[key] = search.run()
            self._repelled[key] = tuple(search.repelled_by)
        return self._found[key]

    def repelled(self, profile: Profile, row: int) -> tuple[str, ...]:
        """Taints that keep such pods from devices of that node, as far as a search there met with them."""
        return self._repelled.get((profile.id, row), ())

    def has_preferences(self, profile: Profile) -> bool:
        """Whether its claims name alternatives, of which some nodes may have a better one than others."""
        if not has_claims(profile.pod):
            return False
        claims = claims_of(self._cluster, profile.pod).pending
        return any(request.first_available for claim in claims for request in claim.spec.devices.requests)

    def preference(self, profile: Profile, row: int) -> int:
        """How good the alternatives are that this node offers; 0 where it has none."""
        try:
            found = self.search(profile, row)
        except selectors.SelectorError:
            return 0
        return preference(self._wanted(profile, row), found) if found else 0

    # Promises

    def promise(self, task: Task) -> str:
        """Reserve devices on the task's node; a text says why that cannot be done."""
        if not self.concerns(task.pod):
            return ""
        claims = claims_of(self._cluster, task.pod)
        own = self._own_claim(task)
        mine = [own.claim] if own is not None and own.claim.metadata.key not in self._promises else []
        pending = [*self._open(claims), *mine]
        try:
            found = self._searching(pending, task.node).run()
        except selectors.SelectorError as problem:
            return str(problem)
        if found is None or not self.reachable(task.profile)[task.node]:
            return "cannot allocate all claims"
        for claim, allocation in zip(pending, found, strict=True):
            self._promises[claim.metadata.key] = Promise(allocation)
        for claim in claims.pending:
            self._promises[claim.metadata.key].tasks.add(task.uid)
        for claim in mine:
            promise = self._promises[claim.metadata.key]
            promise.tasks.add(task.uid)
            promise.own = own
        self._changed()
        return ""

    def release(self, task: Task) -> None:
        for key in [key for key, promise in self._promises.items() if task.uid in promise.tasks]:
            promise = self._promises[key]
            promise.tasks.discard(task.uid)
            if not promise.tasks:
                del self._promises[key]
            self._changed()

    def decide(self, task: Task) -> Iterator[DeviceAllocation]:
        """The pod is bound: what its claims get, and that it uses them."""
        if not self.concerns(task.pod):
            return
        claims = claims_of(self._cluster, task.pod)
        own = self._own_claim(task)
        for claim in (*claims.pending, *claims.allocated, *((own.claim,) if own is not None else ())):
            key = claim.metadata.key
            promise = self._promises.get(key)
            if promise is not None:
                kept = self._decided.by_claim.setdefault(key, Promise(promise.allocation, own=promise.own))
                kept.tasks.add(task.uid)
            allocation = promise.allocation if promise is not None else None
            made = own if own is not None and claim is own.claim else None
            yield DeviceAllocation(key, claim.metadata.uid, allocation, task.name, task.uid, made)

    # Inside

    def _changed(self) -> None:
        self._version += 1
        self._found.clear()
        self._repelled.clear()

    @property
    def pools(self) -> Pools:
        return self._decided.market[0]

    def _searching(self, pending: Sequence[ResourceClaim], row: int) -> Search:
        devices = self.pools.at(row) if pending else ()
        return Search(self._cluster.nodes.names[row], devices, self._on_the_market(), pending)

    def _wanted(self, profile: Profile, row: int) -> list[ResourceClaim]:
        """Claims for which such a pod would need devices on that node."""
        own = self._extended.claim(profile.pod, self._cluster.nodes.objects[row])
        return [*self._open(claims_of(self._cluster, profile.pod)), *((own.claim,) if own is not None else ())]

    def _own_claim(self, task: Task) -> OwnClaim | None:
        return self._extended.claim(task.pod, self._cluster.nodes.objects[task.node])

    def _open(self, claims: PodClaims) -> list[ResourceClaim]:
        return [claim for claim in claims.pending if claim.metadata.key not in self._promises]

    def _allocations(self, claims: PodClaims) -> Iterator[ClaimAllocation]:
        for claim in claims.allocated:
            if claim.status.allocation is not None:
                yield claim.status.allocation
        for claim in claims.pending:
            if claim.metadata.key in self._promises:
                yield self._promises[claim.metadata.key].allocation

    def _on_the_market(self) -> Market:
        if self._market is None or self._market[0] != self._version:
            taken, shared = self._in_use()
            left = dict(self.pools.counters)
            for identity in (*taken, *shared):
                offered = self.pools.by_id.get(identity)
                for counter, amount in offered.uses() if offered is not None else ():
                    _spend(left, counter, amount)
            classes = self._cluster.objects[CLASSES]
            self._market = self._version, Market(classes, self._decided.market[1], taken, shared, left)
        return self._market[1]

    def _in_use(self) -> tuple[set[DeviceId], dict[DeviceId, Consumed]]:
        """Devices that have one user, and what is used of those that may have several."""
        claims: dict[str, ResourceClaim] = self._cluster.objects[CLAIMS]
        shown = (
            claim.status.allocation
            for claim in claims.values()
            if claim.status.allocation is not None and not self._is_left_over(claim)
        )
        taken: set[DeviceId] = set()
        shared: dict[DeviceId, Consumed] = {}
        for allocation in (*shown, *(promise.allocation for promise in self._promises.values())):
            for result in allocation.devices.results:
                identity = (result.driver, result.pool, result.device)
                if result.share_id:
                    used = shared.setdefault(identity, {})
                    for name, amount in from_quantities(result.consumed_capacity, result.driver).items():
                        used[name] = used.get(name, 0) + amount
                elif not result.admin_access:
                    taken.add(identity)
        return taken, shared

    def _is_left_over(self, claim: ResourceClaim) -> bool:
        """Made for the extended resources of a pod that was not bound after all: it is written anew."""
        if MARK not in claim.metadata.annotations:
            return False
        owners = (self._cluster.tasks.get(owner.uid) for owner in claim.metadata.owner_references)
        return any(owner is not None and not owner.pod.spec.node_name for owner in owners) and (
            claim.metadata.key not in self._promises
        )


def _spend(left: dict[Counter, int], counter: Counter, amount: int) -> None:
    left[counter] = left.get(counter, 0) - amount
