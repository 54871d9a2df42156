"""Who gives back: tasks of queues that hold more than they deserve of something the claimant asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.resources import EPSILON, PODS, AnyVector, FloatVector, less_equal
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
        if not less_equal(account.guarantee, self._holds(account) - request):
            return False
        levels = self._levels(account, request)
        if levels is None:
            return False
        for one in levels:
            self._held[one.queue.name] = self._holds(one) - request
        return True

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

    def __init__(self, plugin: Capacity) -> None:
        self.plugin = plugin
        self._held: dict[str, FloatVector] = {}

    def choose(self, candidates: Sequence[Task]) -> list[Task]:
        return [task for task in candidates if self._gives(task)]

    def _gives(self, task: Task) -> bool:
        account = self.plugin.account_of(task)
        if account is None:
            return False
        request = task.profile.request
        holds = self._held.get(account.queue.name, account.allocated)
        if not less_equal(account.guarantee, holds - request):
            return False
        if not is_immediate(account, request) and not exceeds_share(account, holds, request):
            return False
        self._held[account.queue.name] = holds - request
        return True


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
