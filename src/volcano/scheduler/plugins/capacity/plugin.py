"""capacity: quotas of queues. A queue uses what is idle up to its capability, and gives back what it does not deserve.

accounts.py keeps the books, reclaim.py says who must give back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import CPU, EPSILON, MEMORY, PODS, FloatVector, Vector, exceeding
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.plugin import EvictionContext, Plugin, SortKey, Vote
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.shortage import overdrawn
from volcano.scheduler.plugins.capacity.accounts import Account, open_accounts, shared_depth
from volcano.scheduler.plugins.capacity.devices import DeviceQuotas, Shortage
from volcano.scheduler.plugins.capacity.promises import Promises
from volcano.scheduler.plugins.capacity.reclaim import GangVictims, Victims
from volcano.scheduler.plugins.reservations import beyond, minimum, quota_reason, without_gated


class Arguments(msgspec.Struct, frozen=True):
    ancestor_level: int = msgspec.field(default=0, name="ancestorReclaimLevel")
    """How many levels above the queue itself take part in reclaim."""
    dynamic_resources: bool = msgspec.field(default=True, name="capacity.DynamicResourceAllocationEnable")
    consumable_capacity: bool = msgspec.field(default=True, name="capacity.DRAConsumableCapacityEnable")


class Capacity(Plugin):
    name = "capacity"
    shares_out = True
    Arguments = Arguments

    def open(self, session: Session) -> None:
        self.hierarchical = bool(self.switches.get("enableHierarchy"))
        self.level = max(self.arguments.ancestor_level, 0) if self.hierarchical else 0
        if self.arguments.ancestor_level < 0:
            session.warn(f"capacity: ancestorReclaimLevel {self.arguments.ancestor_level} is below 0, 0 is used")
        self.accounts = open_accounts(session, hierarchical=self.hierarchical)
        enforced = self.accounts if self.arguments.dynamic_resources else {}
        self.devices = DeviceQuotas(session, enforced, capacities=self.arguments.consumable_capacity)
        self.promises = Promises(session, self.account_of)
        for account in self.accounts.values():
            if account.problem:
                session.warn(f"capacity: {account.problem}")
            self._report(account)

    def close(self) -> None:
        for name, account in self.accounts.items():
            self.session.gauge("queue_overused", float(account.share > 1), name)

    # Order

    def queue_order(self, queue: Queue) -> SortKey:
        account = self.accounts[queue.name]
        if self.hierarchical:
            return account.place
        return (-queue.priority, *account.rank)

    def victim_queue_compare(self, left: Queue, right: Queue, claimant: Queue) -> int:
        """In a tree: nearer relatives of the claimant give first."""
        if not self.hierarchical:
            return 0
        mine, one, other = (self.accounts[queue.name].path for queue in (claimant, left, right))
        return shared_depth(other, mine) - shared_depth(one, mine)

    # Admission

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        account = self.accounts[job.queue_name]
        refusal = self._refusal(account)
        if refusal is not None:
            return refusal
        lacking = self.devices.job_shortage(account.chain, job)
        if lacking is not None:
            return _device_reason(lacking)
        if job.min_resources is None:
            return Vote.PERMIT
        wanted = minimum(self.session, job)
        for one in account.chain:
            if not one.limits(job.min_resources):
                continue
            used = one.claimed + wanted
            short = exceeding(wanted, used, one.real_capability)
            if short:
                return self._quota_reason(job, one, short, used)
        return Vote.PERMIT

    def admits_ahead(self, queue: Queue, amount: Vector) -> bool:
        account = self.accounts[queue.name]
        if self._refusal(account) is not None or not account.is_leaf or self.devices.are_limited:
            return False
        return not any(exceeding(amount, one.claimed + amount, one.real_capability) for one in account.chain)

    def entitled(self, job: Job) -> bool:
        account = self.accounts[job.queue_name]
        wanted = minimum(self.session, job)
        return not exceeding(wanted, account.claimed + wanted, account.deserved)

    def job_enqueued(self, job: Job) -> None:
        self.devices.promise(self.accounts[job.queue_name].chain, job)
        if job.min_resources is not None:
            amount = without_gated(job, minimum(self.session, job))
            for one in self.accounts[job.queue_name].chain:
                one.inqueue += amount

    # Quota

    def allocatable(self, queue: Queue, task: Task) -> bool:
        return self.allowance(queue, task, 1) > 0

    def allowance(self, queue: Queue, task: Task, wanted: int) -> int:
        account = self.accounts[queue.name]
        if self._refusal(account) is not None:
            return 0
        for one in account.chain:
            if not one.limits(task.profile.wanted):
                continue
            free = (one.real_capability - one.allocated - self.promises.against(one, task)).tolist()
            for dimension, amount in task.profile.amounts:
                if dimension != PODS and free[dimension] < amount * wanted:
                    wanted = math.floor(free[dimension] / amount)
            if wanted <= 0:
                return 0
        if not self.devices.concerns(task):
            return wanted
        return 0 if self.devices.shortage(account.chain, task) else min(wanted, 1)

    def quota_refusal(self, queue: Queue, task: Task) -> Reason | None:
        account = self.accounts[queue.name]
        refusal = self._refusal(account)
        if refusal is not None:
            return refusal
        for one in account.chain:
            used = one.allocated + task.profile.request + self.promises.against(one, task)
            short = exceeding(task.profile.request, used, one.real_capability)
            if short:
                return quota_reason(self.session, one.queue.name, short, used, one.real_capability)
        lacking = self.devices.shortage(account.chain, task)
        return None if lacking is None else _device_reason(lacking)

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> bool:
        """It may take from others while it stays within its limit, and within its share in something it asks for."""
        account = self.accounts[queue.name]
        if self._refusal(account) is not None:
            return False
        request = np.sum([task.profile.request for task in tasks], axis=0)
        if exceeding(request, account.allocated + request, account.real_capability):
            return False
        levels = [account, *account.chain[1 : 1 + self.level]]
        return any(_within_share(one, request) for one in levels if one is account or one is not account.chain[-1])

    def reclaimable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        return Victims(self, claimant).choose(candidates)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Sequence[Task]:
        if context.kind == "gangpreempt":
            return candidates
        return GangVictims(self, context.job).choose(candidates)

    # Events

    def let_out(self, tasks: Sequence[Task]) -> None:
        self.promises.make(tasks)

    def allocated(self, tasks: Sequence[Task]) -> None:
        self._book(tasks, 1)
        self.promises.keep(tasks)
        account = self.account_of(tasks[0])
        if account is not None and self.devices.concerns(tasks[0]):
            for task in tasks:
                self.devices.book(account.chain, task)

    def deallocated(self, tasks: Sequence[Task]) -> None:
        self._book(tasks, -1)
        self.promises.renew(tasks)
        account = self.account_of(tasks[0])
        if account is not None and self.devices.concerns(tasks[0]):
            for task in tasks:
                self.devices.release(account.chain, task)

    # Inside

    def account_of(self, task: Task) -> Account | None:
        job = self.session.jobs.get(task.job.key) if task.job else None
        return self.accounts.get(job.queue_name) if job is not None else None

    def _book(self, tasks: Sequence[Task], sign: int) -> None:
        account = self.account_of(tasks[0])
        if account is None:
            return
        amount = tasks[0].profile.request * (sign * len(tasks))
        for one in account.chain:
            one.allocated += amount
        account.update_share()  # ancestors keep the share they had at the start: branches are ranked by it all cycle

    def _refusal(self, account: Account) -> Reason | None:
        """Why the queue takes nothing at all."""
        queue = account.queue
        if account.problem:
            return Reason(Stage.QUEUE, "QueueMisplaced", blocker=queue.name, message=account.problem)
        if not queue.is_open:
            text = (
                f"queue {queue.name!r} is {queue.state or 'not open'}: open it or submit to another queue (spec.queue)"
            )
            return Reason(Stage.QUEUE, "QueueNotOpen", blocker=queue.name, message=text)
        return None

    def _quota_reason(self, job: Job, account: Account, short: list[int], used: FloatVector) -> Reason:
        names = " ".join(self.session.cluster.dimensions.names[dimension] for dimension in short)
        text = f"queue resource quota insufficient: insufficient {names}"
        text = f"{text}: {overdrawn(self.session, short, used, account.real_capability)}"
        self.session.tell_pod_group(job, "Unschedulable", text)
        reason = Reason(Stage.ENQUEUE, "QueueQuotaExceeded", blocker=account.queue.name, message=text)
        return beyond(self.session, reason, short, used, account.real_capability)

    def _report(self, account: Account) -> None:
        session, name = self.session, account.queue.name
        session.gauge("queue_share", account.share, name)
        for family, amounts in (
            ("allocated", account.allocated),
            ("request", account.request),
            ("deserved", account.deserved),
            ("inqueue", account.inqueue),
            ("capacity", account.capability),
            ("real_capacity", account.real_capability),
        ):
            session.gauge(f"queue_{family}_milli_cpu", float(amounts[CPU]), name)
            session.gauge(f"queue_{family}_memory_bytes", float(amounts[MEMORY]), name)


def _device_reason(lacking: Shortage) -> Reason:
    text = (
        f"queue {lacking.queue!r} may not take more of {lacking.limit}: "
        f"{lacking.need} needed, {lacking.allowed} allowed (spec.capability)"
    )
    return Reason(Stage.QUEUE, "QueueQuotaExceeded", lacking.need, lacking.allowed, blocker=lacking.queue, message=text)


def _within_share(account: Account, request: FloatVector) -> bool:
    used = account.allocated + request
    asked = request > 0
    asked[PODS] = False
    asked &= (used >= EPSILON) | (account.deserved >= EPSILON)
    return bool((used[asked] < account.deserved[asked] + EPSILON).any())
