"""Quotas of devices: `deviceclass/NAME` in a queue's capability limits how many of that class its pods claim.

A claim that several pods of a queue share counts once, as long as one of them uses it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from volcano.api import quantity
from volcano.scheduler.cluster.tasks import ALLOCATED_STATUSES, Task
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.capacity.accounts import Account
from volcano.scheduler.plugins.kubernetes.claims.allocator import alternatives
from volcano.scheduler.plugins.kubernetes.claims.pods import claims_of, has_claims

if TYPE_CHECKING:
    from volcano.api.core import ResourceClaim
    from volcano.scheduler.cluster.queues import Queue

PREFIX: Final = "deviceclass/"


@dataclass(frozen=True, slots=True)
class Shortage:
    queue: str
    device_class: str
    need: int
    limit: int


@dataclass(slots=True)
class _Use:
    """What one claim takes of a queue's quota, and for whom."""

    devices: Counter[str]
    tasks: set[str] = field(default_factory=set)


class DeviceQuotas:
    """For one session. Queues without such limits keep no books."""

    def __init__(self, session: Session, accounts: dict[str, Account]) -> None:
        self._cluster = session.cluster
        self._limits = {name: limits for name in accounts if (limits := limits_of(accounts[name].queue))}
        self._held: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._uses: dict[tuple[str, str], _Use] = {}
        """By queue and claim."""
        if not self._limits:
            return
        for job in session.jobs.values():
            for task in job.tasks.values():
                if task.status in ALLOCATED_STATUSES:
                    self.book(accounts[job.queue_name].chain, task)

    def concerns(self, task: Task) -> bool:
        return bool(self._limits) and has_claims(task.pod)

    def shortage(self, chain: Sequence[Account], task: Task) -> Shortage | None:
        """The first limit that one more such pod would break."""
        if not self.concerns(task):
            return None
        for name in self._limited(chain):
            fresh: Counter[str] = Counter()
            for claim in self._claims(task):
                if (name, claim.metadata.key) not in self._uses:
                    fresh += devices_of(claim)
            for device_class, number in fresh.items():
                limit = self._limits[name].get(device_class)
                need = self._held[name][device_class] + number
                if limit is not None and need > limit:
                    return Shortage(name, device_class, need, limit)
        return None

    def book(self, chain: Sequence[Account], task: Task) -> None:
        if not self.concerns(task):
            return
        for name in self._limited(chain):
            for claim in self._claims(task):
                use = self._uses.get((name, claim.metadata.key))
                if use is None:
                    use = self._uses[name, claim.metadata.key] = _Use(devices_of(claim))
                    self._held[name] += use.devices
                use.tasks.add(task.uid)

    def release(self, chain: Sequence[Account], task: Task) -> None:
        if not self.concerns(task):
            return
        for name in self._limited(chain):
            for claim in self._claims(task):
                use = self._uses.get((name, claim.metadata.key))
                if use is None or task.uid not in use.tasks:
                    continue
                use.tasks.discard(task.uid)
                if not use.tasks:
                    self._held[name] -= use.devices
                    del self._uses[name, claim.metadata.key]

    def _limited(self, chain: Sequence[Account]) -> Iterator[str]:
        return (one.queue.name for one in chain if one.queue.name in self._limits)

    def _claims(self, task: Task) -> tuple[ResourceClaim, ...]:
        claims = claims_of(self._cluster, task.pod)
        return (*claims.allocated, *claims.pending)


def limits_of(queue: Queue) -> dict[str, int]:
    """By class; a limit of 0 is none."""
    found = {
        name.removeprefix(PREFIX): quantity.units(amount)
        for name, amount in queue.object.spec.capability.items()
        if name.startswith(PREFIX)
    }
    return {name: limit for name, limit in found.items() if limit > 0}


def devices_of(claim: ResourceClaim) -> Counter[str]:
    """How many devices of which class: those allocated, or else those that its requests would like best."""
    classes: dict[str, str] = {}
    wanted: Counter[str] = Counter()
    for request in claim.spec.devices.requests:
        options = alternatives(request)
        classes |= {name: option.device_class_name for name, option in options}
        for _, option in options[:1]:
            if not option.admin_access:
                wanted[option.device_class_name] += option.count or 1
    if claim.status.allocation is None:
        return wanted
    results = claim.status.allocation.devices.results
    return Counter(classes.get(result.request, "") for result in results if not result.admin_access)
