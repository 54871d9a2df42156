"""proportion: each queue deserves its weighted share of the cluster, as far as it asks for it.

Decides which queue is served next, whether it may take more, which jobs may wait for room, and from whom to take back.
Neighbours: water.py (the shares), reservations.py (what admitted jobs still claim).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import (
    CPU,
    EPSILON,
    MEMORY,
    PODS,
    FloatVector,
    Vector,
    exceeding,
)
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.gates import PREEMPTING, RECLAIMING
from volcano.scheduler.framework.plugin import Plugin, SortKey, Vote
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.shortage import overdrawn
from volcano.scheduler.plugins.proportion import water
from volcano.scheduler.plugins.reservations import Claims, beyond, minimum, quota_reason, without_gated


class Account:
    """What one queue has, may have, and is promised. `allocated` follows every placement of the session."""

    __slots__ = ("_deserved", "allocated", "ceiling", "counted", "deserved", "guarantee", "limit", "request", "share")

    def __init__(self, queue: Queue, guarantee: FloatVector, ceiling: FloatVector) -> None:
        self.allocated: Vector = queue.allocated.copy()
        self.request: Vector = queue.allocated + queue.pending
        self.guarantee = guarantee
        self.ceiling = ceiling
        """The most it can ever get: its capability, and the cluster less what others are guaranteed."""
        self.deserved: FloatVector = np.zeros_like(guarantee)
        self.limit: Vector = queue.allocated * 0
        """What is deserved, in whole units."""
        self.counted = np.empty(0, dtype=np.intp)
        """Dimensions of which something is deserved."""
        self.share: float | None = None
        """How much of what it deserves it has; None: to be computed."""

    def settle(self, deserved: FloatVector) -> None:
        self.deserved = deserved
        self._deserved: list[float] = deserved.tolist()
        self.limit = np.floor(deserved).astype(np.int64)
        self.counted = np.flatnonzero(deserved >= EPSILON)

    def current_share(self) -> float:
        if self.share is None:
            parts = self.allocated[self.counted] / self.deserved[self.counted]
            self.share = float(parts.max()) if len(parts) else 0.0
        return self.share

    def add(self, amount: Vector) -> None:
        self.allocated += amount
        self.share = None

    @property
    def is_overused(self) -> bool:
        for deserved, allocated in zip(self._deserved, self.allocated.tolist(), strict=True):
            if deserved - allocated >= EPSILON:
                return False
        return True


class Proportion(Plugin):
    name = "proportion"
    shares_out = True

    def open(self, session: Session) -> None:
        queues = {name: queue for name, queue in session.queues.items() if queue.jobs}
        guaranteed = sum(
            (self._vector(queue.guarantee) for queue in session.queues.values()), np.zeros_like(session.total)
        )
        self.accounts: dict[str, Account] = {}
        for name, queue in queues.items():
            guarantee = self._vector(queue.guarantee)
            self.accounts[name] = Account(queue, guarantee, self._ceiling(queue, guarantee, guaranteed))
        self._fill([queue.weight for queue in queues.values()])
        self._report_all()

    # Order and quota

    def queue_order(self, queue: Queue) -> SortKey:
        account = self.accounts.get(queue.name)
        return (-queue.priority, account.current_share() if account else 0.0)

    def overused(self, queue: Queue) -> bool:
        overused = self.accounts[queue.name].is_overused
        self.session.gauge("queue_overused", float(overused), queue.name)
        return overused

    def allocatable(self, queue: Queue, task: Task) -> bool:
        return self.preemptive(queue, (task,))

    def allowance(self, queue: Queue, task: Task, wanted: int) -> int:
        if not queue.is_open:
            return 0
        account, profile = self.accounts[queue.name], task.profile
        left = (account.limit - account.allocated).tolist()
        for dimension, each in profile.amounts:
            if dimension != PODS:  # quotas are not about the number of pods
                wanted = min(wanted, left[dimension] // each)
        return max(wanted, 0)

    def quota_refusal(self, queue: Queue, task: Task) -> Reason | None:
        if not queue.is_open:
            return None
        account = self.accounts[queue.name]
        used = account.allocated + task.profile.request
        short = exceeding(task.profile.request, used, account.deserved)
        return quota_reason(self.session, queue.name, short, used, account.deserved) if short else None

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> bool:
        if not queue.is_open:
            return False
        account = self.accounts[queue.name]
        request = sum((task.profile.request for task in tasks), np.zeros_like(account.allocated))
        return not exceeding(request, account.allocated + request, account.deserved)

    # Admission

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        queue = job.queue
        assert queue is not None, f"{job.key} is in the session without a queue"
        if not queue.is_open:
            message = f"queue {queue.name!r} is {queue.state or 'not open'}: open it or submit to another queue"
            return Reason(Stage.ENQUEUE, "QueueNotOpen", blocker=queue.name, message=message)
        if job.min_resources is None:
            return Vote.PERMIT
        account = self.accounts[queue.name]
        wanted = minimum(self.session, job)
        claimed = self._claimed_with(queue, wanted)
        short = exceeding(wanted, claimed, account.ceiling)
        if not short:
            return Vote.PERMIT
        names = " ".join(self.session.cluster.dimensions.names[dimension] for dimension in short)
        text = f"queue resource quota insufficient: insufficient {names}"
        text = f"{text}: {overdrawn(self.session, short, claimed, account.ceiling)}"
        self.session.tell_pod_group(job, "Unschedulable", text)
        reason = Reason(Stage.ENQUEUE, "QueueQuotaExceeded", blocker=queue.name, message=text)
        return beyond(self.session, reason, short, claimed, account.ceiling)

    def admits_ahead(self, queue: Queue, amount: Vector) -> bool:
        account = self.accounts.get(queue.name)
        if account is None or not queue.is_open:  # its jobs have gone as fast as they came
            return False
        return not exceeding(amount, self._claimed_with(queue, amount), account.ceiling)

    def _claimed_with(self, queue: Queue, amount: Vector) -> Vector:
        """What the queue would claim if `amount` came on top of what it holds and what was admitted."""
        held = self.accounts[queue.name].allocated
        claimed: Vector = amount + held + self._inqueue[queue.name] - self._elastic[queue.name]
        return claimed

    def entitled(self, job: Job) -> bool:
        """Within the part of the cluster that is its queue's by weight, whatever other queues ask for, if that can be

        taken back from them. A queue that is alone has nobody to take from; nor does a job take from other queues to
        which less important ones of its own would give way first.
        """
        account, queue, actions = self.accounts[job.queue_name], self.session.queues[job.queue_name], self._actions
        if not RECLAIMING & actions or self._weights <= queue.weight:
            return False
        if PREEMPTING & actions and self._least.get(queue.name, job.priority) < job.priority:
            return False
        wanted = minimum(self.session, job)
        claimed = wanted + account.allocated + self._inqueue[queue.name]
        part = np.minimum(self.session.total * (queue.weight / self._weights), account.ceiling)
        return not exceeding(wanted, claimed, np.maximum(part, account.guarantee))

    @cached_property
    def _actions(self) -> frozenset[str]:
        return frozenset(self.session.conf.actions)

    @cached_property
    def _least(self) -> dict[str, int]:
        """The lowest priority of the jobs of each queue that hold something."""
        found: dict[str, int] = {}
        for job in self.session.jobs.values():
            if job.tally.allocated:
                found[job.queue_name] = min(job.priority, found.get(job.queue_name, job.priority))
        return found

    @cached_property
    def _weights(self) -> int:
        """Of all queues that ask for something, or will once their jobs are let in."""
        asking = {job.queue_name for job in self.session.restless_jobs}
        asking |= {name for name, account in self.accounts.items() if account.request.any()}
        asking |= {name for name, claimed in self._inqueue.items() if claimed.any()}
        return sum(self.session.queues[name].weight for name in asking if name in self.session.queues)

    def job_enqueued(self, job: Job) -> None:
        if job.min_resources is not None:
            self._inqueue[job.queue_name] += without_gated(job, minimum(self.session, job))

    @cached_property
    def _inqueue(self) -> defaultdict[str, Vector]:
        """What admitted jobs of each queue still claim."""
        return self._copied(Claims.of(self.session.cluster).claimed)

    @cached_property
    def _elastic(self) -> defaultdict[str, Vector]:
        """What jobs of each queue hold beyond their minimum, and could do without."""
        return self._copied(Claims.of(self.session.cluster).elastic)

    def _copied(self, sums: Mapping[str, Vector]) -> defaultdict[str, Vector]:
        copies: defaultdict[str, Vector] = defaultdict(self.session.cluster.dimensions.zeros)
        copies.update((queue, amount.copy()) for queue, amount in sums.items())
        return copies

    # Reclaim

    def reclaimable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Tasks that hold something of which the claimant asks, and their queue has more than it deserves, as long as

        it does. What all queues have in excess shrinks with every victim and grows with no claim or placement, as these
        stay within what is deserved: so it ends, and nobody takes in turn what was taken from him.
        """
        asked = claimant.profile.request > 0
        asked[PODS] = False
        left: dict[str, Vector] = {}
        victims = []
        for task in candidates:
            account = self._account_of(task)
            if account is None or task.job is None:
                continue
            name = task.job.queue_name
            allocated = left.get(name, account.allocated)
            if (allocated - account.deserved >= EPSILON)[asked & (task.profile.request > 0)].any():
                left[name] = allocated - task.profile.request
                victims.append(task)
        return victims

    # Events

    def allocated(self, tasks: Sequence[Task]) -> None:
        self._move(tasks, 1)

    def deallocated(self, tasks: Sequence[Task]) -> None:
        self._move(tasks, -1)

    def close(self) -> None:
        for name in self._moved:
            account = self.accounts[name]
            self._report(name, "allocated", account.allocated)
            self.session.gauge("queue_share", account.current_share(), name)

    # Inside

    def _move(self, tasks: Sequence[Task], sign: int) -> None:
        account = self._account_of(tasks[0])
        if account is not None and tasks[0].job is not None:
            account.add(tasks[0].profile.request * (sign * len(tasks)))
            self._moved.add(tasks[0].job.queue_name)

    def _account_of(self, task: Task) -> Account | None:
        return self.accounts.get(task.job.queue_name) if task.job is not None else None

    def _fill(self, weights: list[int]) -> None:
        accounts = list(self.accounts.values())
        if not accounts:
            return
        deserved = water.fill(
            self.session.total,
            weights,
            np.array([account.request for account in accounts], dtype=np.float64),
            np.array([account.guarantee for account in accounts]),
            np.array([account.ceiling for account in accounts]),
        )
        for account, amount in zip(accounts, deserved, strict=True):
            account.settle(amount)

    def _ceiling(self, queue: Queue, guarantee: FloatVector, guaranteed: FloatVector) -> FloatVector:
        ceiling: FloatVector = np.maximum(self.session.total - guaranteed, 0.0) + guarantee
        for dimension, amount in queue.capability.items():
            if amount > 0 or dimension not in (CPU, MEMORY):  # no CPU or memory at all is no limit
                ceiling[dimension] = min(ceiling[dimension], amount)
        return ceiling

    def _vector(self, amounts: dict[int, int]) -> FloatVector:
        return self.session.cluster.dimensions.from_amounts(amounts).astype(np.float64)

    def _report_all(self) -> None:
        self._moved: set[str] = set()
        session = self.session
        for name, queue in session.queues.items():
            account = self.accounts.get(name)
            self._report(name, "allocated", queue.allocated)
            self._report(name, "request", queue.allocated + queue.pending)
            if account is not None:
                self._report(name, "deserved", account.deserved)
                session.gauge("queue_share", account.current_share(), name)
                session.gauge("queue_weight", queue.weight, name)

    def _report(self, queue: str, family: str, amounts: Vector | FloatVector) -> None:
        session = self.session
        session.gauge(f"queue_{family}_milli_cpu", float(amounts[CPU]), queue)
        session.gauge(f"queue_{family}_memory_bytes", float(amounts[MEMORY]), queue)
        for dimension, name in enumerate(session.cluster.dimensions.names):
            if dimension not in (CPU, MEMORY) and amounts[dimension]:
                session.gauge(f"queue_{family}_scalar_resources", float(amounts[dimension]), queue, name)
