"""Quotas of devices: how many of a class, and how much of a capacity within them, the pods of a queue may claim.

`deviceclass/NAME` and `DIMENSION.deviceclass/NAME` in a queue's capability. A claim that several pods of a queue share
counts once, as long as one of them uses it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from volcano.api import quantity
from volcano.scheduler.cluster.jobs import INQUEUE, Job
from volcano.scheduler.cluster.tasks import ALLOCATED_STATUSES, Task
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.capacity.accounts import Account
from volcano.scheduler.plugins.kubernetes.claims.allocator import alternatives
from volcano.scheduler.plugins.kubernetes.claims.pods import existing_claims, has_claims

if TYPE_CHECKING:
    from volcano.api.core import ResourceClaim
    from volcano.api.core.dra import ExactRequest
    from volcano.scheduler.cluster.queues import Queue

PREFIX: Final = "deviceclass/"

Amounts = Counter[str]
"""By the name that a limit on it would have."""
Claims = Mapping[str, Amounts]


@dataclass(frozen=True, slots=True)
class Shortage:
    queue: str
    limit: str
    need: int
    allowed: int


@dataclass(slots=True)
class _Use:
    """What one claim takes of a queue's quota, and for whom."""

    amounts: Amounts
    tasks: set[str] = field(default_factory=set)


class DeviceQuotas:
    """For one session. Queues without such limits keep no books."""

    def __init__(self, session: Session, accounts: Mapping[str, Account], *, capacities: bool) -> None:
        self._cluster = session.cluster
        self._capacities = capacities
        self._limits = {name: limits for name in accounts if (limits := limits_of(accounts[name].queue))}
        self._held: defaultdict[str, Amounts] = defaultdict(Counter)
        self._uses: dict[tuple[str, str], _Use] = {}
        """By queue and claim."""
        self._promised: defaultdict[str, dict[str, Amounts]] = defaultdict(dict)
        """By queue and claim, what admitted jobs will claim."""
        if not self._limits:
            return
        for job in session.jobs.values():
            for task in job.tasks.values():
                if task.status in ALLOCATED_STATUSES:
                    self.book(accounts[job.queue_name].chain, task)
        for job in session.jobs.values():
            if job.phase == INQUEUE:
                self.promise(accounts[job.queue_name].chain, job)

    @property
    def are_limited(self) -> bool:
        """Whether any queue has such limits."""
        return bool(self._limits)

    def concerns(self, task: Task) -> bool:
        return bool(self._limits) and has_claims(task.pod)

    def shortage(self, chain: Sequence[Account], task: Task) -> Shortage | None:
        """The first limit that one more such pod would break."""
        return self._first_shortage(chain, self._claims(task), {}) if self.concerns(task) else None

    def job_shortage(self, chain: Sequence[Account], job: Job) -> Shortage | None:
        """The first limit that the job's minimum would break, beside what others were promised."""
        return self._first_shortage(chain, self._minimum(job), self._promised) if self._limits else None

    def promise(self, chain: Sequence[Account], job: Job) -> None:
        if self._limits:
            claims = self._minimum(job)
            for name in self._limited(chain):
                self._promised[name].update(claims)

    def book(self, chain: Sequence[Account], task: Task) -> None:
        if not self.concerns(task):
            return
        claims = self._claims(task)
        for name in self._limited(chain):
            for key, amounts in claims.items():
                use = self._uses.get((name, key))
                if use is None:
                    use = self._uses[name, key] = _Use(amounts)
                    self._held[name] += use.amounts
                use.tasks.add(task.uid)

    def release(self, chain: Sequence[Account], task: Task) -> None:
        if not self.concerns(task):
            return
        claims = self._claims(task)
        for name in self._limited(chain):
            for key in claims:
                use = self._uses.get((name, key))
                if use is None or task.uid not in use.tasks:
                    continue
                use.tasks.discard(task.uid)
                if not use.tasks:
                    self._held[name] -= use.amounts
                    del self._uses[name, key]

    def _first_shortage(
        self, chain: Sequence[Account], claims: Claims, promised: Mapping[str, Claims]
    ) -> Shortage | None:
        for name in self._limited(chain):
            elsewhere = {**promised.get(name, {}), **claims}
            total = sum((amounts for key, amounts in elsewhere.items() if (name, key) not in self._uses), Counter())
            asked = {limit for amounts in claims.values() for limit in amounts}
            for limit in sorted(asked):
                allowed = self._allowed(name, limit)
                need = self._held[name][limit] + total[limit]
                if allowed is not None and need > allowed:
                    return Shortage(name, limit, need, allowed)
        return None

    def _allowed(self, queue: str, limit: str) -> int | None:
        """A capacity that is not named is not allowed where its class is limited at all."""
        limits = self._limits[queue]
        dimension, _, device_class = limit.rpartition(PREFIX)
        if not dimension:
            return limits.get(limit)
        if not self._capacities or not any(_class_of(one) == device_class for one in limits):
            return None
        return limits.get(limit, 0)

    def _limited(self, chain: Sequence[Account]) -> Iterator[str]:
        return (one.queue.name for one in chain if one.queue.name in self._limits)

    def _claims(self, task: Task) -> Claims:
        return {claim.metadata.key: amounts_of(claim) for claim in existing_claims(self._cluster, task.pod)}

    def _minimum(self, job: Job) -> Claims:
        """The claims of as many members as the job needs; members yet to be made are like the first one."""
        tasks = sorted((task for task in job.tasks.values() if has_claims(task.pod)), key=lambda task: task.key)
        if not tasks:
            return {}
        found: dict[str, Amounts] = {}
        roles = job.role_minimums if job.enforces_roles else {}
        for role, minimum in (roles or {"": job.min_available}).items():
            members = [task for task in tasks if not roles or task.role == role][:minimum]
            for task in members:
                found |= self._claims(task)
            for number in range(len(members), minimum if roles and members else 0):
                found |= {f"{job.key}/{role}/{number}/{key}": use for key, use in self._claims(members[0]).items()}
        return found


def limits_of(queue: Queue) -> dict[str, int]:
    """The limits in a queue's capability; a number of devices of 0 is no limit."""
    found = {
        name: quantity.units(amount)
        for name, amount in queue.object.spec.capability.items()
        if name.startswith(PREFIX) or f".{PREFIX}" in name
    }
    return {name: limit for name, limit in found.items() if limit > 0 or not name.startswith(PREFIX)}


def amounts_of(claim: ResourceClaim) -> Amounts:
    """What a claim has been given, or else what its requests would like best."""
    options: dict[str, ExactRequest] = {}
    wanted: Amounts = Counter()
    for request in claim.spec.devices.requests:
        found = alternatives(request)
        options |= dict(found)
        for _, option in found[:1]:
            if not option.admin_access:
                wanted += _amounts(option, option.count or 1)
    if claim.status.allocation is None:
        return wanted
    given = Counter(result.request for result in claim.status.allocation.devices.results if not result.admin_access)
    return sum((_amounts(options[name], count) for name, count in given.items() if name in options), Counter())


def _amounts(request: ExactRequest, devices: int) -> Amounts:
    found = Counter({f"{PREFIX}{request.device_class_name}": devices})
    for dimension, amount in ((request.capacity or {}).get("requests") or {}).items():
        found[f"{dimension}.{PREFIX}{request.device_class_name}"] = quantity.units(amount) * devices
    return found


def _class_of(limit: str) -> str:
    return limit.rpartition(PREFIX)[2]
