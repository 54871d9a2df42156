"""Who gives back: tasks of queues that hold more than they deserve of something the claimant asks for.

A claimant need not be within its share of all it asks for. Lest two queues take from each other in turn, each by
right, a task is given up only if its queue sheds more of what it holds too much than the claim adds to that of the
claimant's queue. So the excess of all queues, in parts of the cluster, falls with every victim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.resources import EPSILON, PODS, AnyVector, FloatVector, fits
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.victims import in_victim_order

if TYPE_CHECKING:
    from volcano.scheduler.plugins.capacity.accounts import Account
    from volcano.scheduler.plugins.capacity.plugin import Capacity


class Victims:
    """One claim: what queues hold is counted down as their tasks are given up."""

    def __init__(self, plugin: Capacity, claimant: Task) -> None:
        self.plugin = plugin
        self.claimant = claimant
        self.asked = _named(claimant.profile.request)
        self.asked[PODS] = False
        self.mine = plugin.account_of(claimant)
        self.excess = Excess(plugin.session.total)
        self.overdrafts: list[tuple[Account, float]] = []
        """What the claim makes the claimant's queue, and each ancestor that takes part, hold too much."""
        if self.mine is not None:
            above = (_ancestor(self.mine, level) for level in range(1, plugin.level + 1))
            for one in (self.mine, *above):
                if one is not None:
                    request = claimant.profile.request
                    self.overdrafts.append((one, self.excess.shed(one, one.allocated + request, request)))
        self._held: dict[str, FloatVector] = {}

    def choose(self, candidates: Sequence[Task]) -> list[Task]:
        if self.mine is None:
            return []
        ordered = in_victim_order(self.plugin.session, self.claimant, candidates)
        return [task for task in ordered if self._gives(task)]

    def _gives(self, task: Task) -> bool:
        account = self.plugin.account_of(task)
        if account is None:
            return False
        request = task.profile.request
        if not (_named(request) & self.asked).any():
            return False
        if not fits(account.guarantee, self._holds(account) - request):
            return False
        levels = self._levels(account, request)
        if levels is None:
            return False
        if not self._reduces_excess(levels, account, request):
            return False
        for one in levels:
            self._held[one.queue.name] = self._holds(one) - request
        return True

    def _reduces_excess(self, levels: Sequence[Account], account: Account, request: AnyVector) -> bool:
        given = sum(self.excess.shed(one, self._holds(one), request) for one in levels)
        return given > sum(amount for one, amount in self.overdrafts if one not in account.chain)

    def _levels(self, account: Account, request: AnyVector) -> list[Account] | None:
        """The queue and those ancestors that must hold more than they deserve; None if one of them does not."""
        immediate = is_immediate(account, request)
        if immediate and self._is_spared(account):
            return None
        if not immediate and not exceeds_share(account, self._holds(account), request):
            return None
        levels = [account]
        for level in range(1, self.plugin.level + 1):
            ancestor = _ancestor(account, level)
            assert self.mine is not None, "choose() asks only for claimants with a queue"
            if ancestor is None or ancestor is _ancestor(self.mine, level):
                continue
            holds = self._holds(ancestor)
            if not is_immediate(ancestor, request) and not exceeds_share(ancestor, holds, request):
                return None
            levels.append(ancestor)
        return levels

    def _is_spared(self, account: Account) -> bool:
        """Near relatives do not take from each other what neither of them has a share in."""
        if self.plugin.level == 0 or self.mine is None:
            return False
        near = {id(one) for level in range(1, self.plugin.level + 1) if (one := _ancestor(self.mine, level))}
        related = any(
            id(one) in near for level in range(1, self.plugin.level + 1) if (one := _ancestor(account, level))
        )
        return related and not (_named(self.claimant.profile.request) & _named(self.mine.deserved)).any()

    def _holds(self, account: Account) -> FloatVector:
        return self._held.setdefault(account.queue.name, account.allocated.copy())


class GangVictims:
    """The same for whole gangs: only the queue's own guarantee and share are looked at, in the given order."""

    def __init__(self, plugin: Capacity, claimant: Job) -> None:
        self.plugin = plugin
        self.excess = Excess(plugin.session.total)
        mine = plugin.accounts[claimant.queue_name]
        request = claimant.pending_request()
        self.overdraft = self.excess.shed(mine, mine.allocated + request, request)
        self.shed = 0.0
        self._held: dict[str, FloatVector] = {}

    def choose(self, candidates: Sequence[Task]) -> list[Task]:
        """Nobody, if all of them together shed no more excess than the claim adds."""
        given = [task for task in candidates if self._gives(task)]
        return given if self.shed > self.overdraft else []

    def _gives(self, task: Task) -> bool:
        account = self.plugin.account_of(task)
        if account is None:
            return False
        request = task.profile.request
        holds = self._held.get(account.queue.name, account.allocated)
        if not fits(account.guarantee, holds - request):
            return False
        if not is_immediate(account, request) and not exceeds_share(account, holds, request):
            return False
        self.shed += self.excess.shed(account, holds, request)
        self._held[account.queue.name] = holds - request
        return True


class Excess:
    """What queues hold beyond what they deserve, as the sum of parts of what the cluster offers."""

    def __init__(self, total: FloatVector) -> None:
        self._counted = total >= EPSILON
        self._counted[PODS] = False
        self._offered = total[self._counted]

    def shed(self, account: Account, holds: FloatVector, request: AnyVector) -> float:
        """How much of its excess a queue is rid of without this request."""
        before, after = self._over(account, holds), self._over(account, holds - request)
        return float(((before - after) / self._offered).sum())

    def _over(self, account: Account, holds: FloatVector) -> FloatVector:
        return np.asarray(np.maximum(holds - account.deserved, 0)[self._counted])


def is_immediate(account: Account, request: AnyVector) -> bool:
    """The queue deserves nothing of what the task holds."""
    return not (_named(request) & _named(account.deserved)).any()


def exceeds_share(account: Account, holds: FloatVector, request: AnyVector) -> bool:
    """It holds more than it deserves of something that its share mentions and the task holds."""
    relevant = (request > 0) & account.mentioned
    return bool((holds[relevant] > account.deserved[relevant]).any())


def _named(amounts: AnyVector) -> NDArray[np.bool_]:
    return np.asarray(amounts >= EPSILON)


def _ancestor(account: Account, level: int) -> Account | None:
    """The ancestor at this distance; the root does not take part."""
    return account.chain[level] if level < len(account.chain) - 1 else None
