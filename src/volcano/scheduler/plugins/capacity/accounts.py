"""The accounts of all queues as arrays: what each may have, what it holds, what it has promised; sums go up the tree.

Flat: every queue stands alone under the cluster. Hierarchical: limits come down from the root, sums go up to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.queues import ROOT, Queue
from volcano.scheduler.cluster.resources import CPU, MEMORY, FloatVector, is_empty
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.reservations import Claims

UNLIMITED = np.inf
Rank = tuple[float, bool]


@dataclass(slots=True, eq=False)
class Account:
    """One queue's books. `chain` is the queue itself and its ancestors up to the root, `path` the same downwards."""

    queue: Queue
    capability: FloatVector
    guarantee: FloatVector
    deserved: FloatVector
    real_capability: FloatVector
    allocated: FloatVector
    request: FloatVector
    inqueue: FloatVector
    elastic: FloatVector
    chain: list[Account] = field(default_factory=list)
    path: list[Account] = field(default_factory=list)
    children: list[Account] = field(default_factory=list)
    _limited: frozenset[int] = frozenset()
    counted: list[int] = field(default_factory=list)
    """Dimensions of which it deserves something."""
    problem: str = ""
    """Why this queue cannot be used: said to its jobs, and to nobody else's."""
    share: float = 0.0
    rank: Rank = (0.0, False)
    """Its place among its siblings: by share, and those that deserve nothing last."""

    @property
    def place(self) -> Place:
        """Its place in the tree."""
        return Place((-self.queue.priority, not self.is_leaf), self.path)

    @property
    def is_leaf(self) -> bool:
        return not self.children

    @property
    def claimed(self) -> FloatVector:
        """What its jobs need at least: those that have it, and those that were promised it."""
        return self.allocated + self.inqueue - self.elastic

    def limits(self, dimensions: Iterable[int]) -> bool:
        """Whether it may not have as much as it likes of any of these."""
        return not self._limited.isdisjoint(dimensions)

    @property
    def mentioned(self) -> NDArray[np.bool_]:
        """Resources of which the queue's share is known, be it none."""
        mask: NDArray[np.bool_] = self.deserved > 0
        mask[[dimension for dimension in self.queue.deserved if dimension not in (CPU, MEMORY)]] = True
        return mask

    def settle(self) -> None:
        """What it may have, and what it deserves, are known now."""
        self._limited = frozenset(np.flatnonzero(np.isfinite(self.real_capability)).tolist())
        self.counted = [] if is_empty(self.deserved) else np.flatnonzero(self.deserved > 0).tolist()
        self.update_share()

    def update_share(self) -> None:
        allocated, deserved = self.allocated, self.deserved
        self.share = max([float(allocated[d] / deserved[d]) for d in self.counted], default=1.0)
        self.rank = (self.share, not self.counted)


class Place:  # noqa: PLW1641 - nobody puts it into a set
    """A queue's place in the order: by priority, leaves first, and then in the tree. There the branches just below the

    last common ancestor are compared, by the ranks that they had when this was made.
    """

    __slots__ = ("_head", "_path", "_ranks")

    def __init__(self, head: tuple[int, bool], path: list[Account]) -> None:
        self._head = head
        self._path = path
        self._ranks = [account.rank for account in path]

    def __eq__(self, other: Any) -> bool:
        if self._head != other._head:
            return False
        one, another = self._branches(other)
        return one == another

    def __lt__(self, other: Any) -> bool:
        if self._head != other._head:
            return bool(self._head < other._head)
        one, another = self._branches(other)
        return one < another

    def _branches(self, other: Place) -> tuple[Rank, Rank]:
        """Where the paths part: ranks of ancestors just below the last common one, or of the queues themselves."""
        depth = shared_depth(self._path, other._path)
        last, others_last = len(self._ranks) - 1, len(other._ranks) - 1  # beyond it: one is the other's ancestor
        return self._ranks[min(depth, last)], other._ranks[min(depth, others_last)]


def shared_depth(left: list[Account], right: list[Account]) -> int:
    """How many queues two paths have in common, from the root down."""
    depth = 0
    for one, other in zip(left, right, strict=False):
        if one is not other:
            break
        depth += 1
    return depth


def open_accounts(session: Session, *, hierarchical: bool) -> dict[str, Account]:
    accounts = {name: _account(session, queue) for name, queue in session.queues.items()}
    if hierarchical:
        _link(accounts)
    else:
        for account in accounts.values():
            account.chain = [account]
    for account in accounts.values():
        account.path = account.chain[::-1]
    claims = Claims.of(session.cluster)
    for account in accounts.values():
        if account.queue.jobs:
            _enter(account, claims)
    if hierarchical:
        _limit_tree(accounts, session.total)
    else:
        _limit_flat(session, accounts)
    for account in accounts.values():
        account.settle()
    return accounts


def _account(session: Session, queue: Queue) -> Account:
    dimensions = session.cluster.dimensions
    zeros = np.zeros(dimensions.width)
    capability = np.full(dimensions.width, UNLIMITED)
    for dimension, amount in queue.capability.items():
        if amount > 0 or dimension not in (CPU, MEMORY):
            capability[dimension] = amount
    return Account(
        queue,
        capability=capability,
        guarantee=dimensions.from_amounts(queue.guarantee).astype(np.float64),
        deserved=dimensions.from_amounts(queue.deserved).astype(np.float64),
        real_capability=zeros.copy(),
        allocated=zeros.copy(),
        request=zeros.copy(),
        inqueue=zeros.copy(),
        elastic=zeros.copy(),
    )


def _enter(account: Account, claims: Claims) -> None:
    queue = account.queue
    request = queue.allocated + queue.pending
    claimed, elastic = claims.claimed.get(queue.name), claims.elastic.get(queue.name)
    for one in account.chain:
        one.allocated += queue.allocated
        one.request += request
        if elastic is not None:
            one.elastic += elastic
        if claimed is not None:
            one.inqueue += claimed
    if not account.is_leaf:
        account.problem = f"queue {account.queue.name!r} has child queues: jobs belong into one of those"


# Flat


def _limit_flat(session: Session, accounts: dict[str, Account]) -> None:
    guaranteed = sum((account.guarantee for account in accounts.values()), start=np.zeros_like(session.total))
    free = np.maximum(session.total - guaranteed, 0)
    for account in accounts.values():
        account.real_capability = np.minimum(free + account.guarantee, account.capability)
        account.deserved = _clamp(account.deserved, account.real_capability)
        account.deserved = np.maximum(account.deserved, account.guarantee)


def _clamp(deserved: FloatVector, limit: FloatVector) -> FloatVector:
    """At most `limit`; a resource of which there is nothing at all is not a limit but unknown."""
    known = limit > 0
    known[CPU] = known[MEMORY] = True
    return np.where(known, np.minimum(deserved, limit), deserved)


# Hierarchical


def _link(accounts: dict[str, Account]) -> None:
    """Chains and children. A queue whose parents lead nowhere or in a circle is marked, the others go on."""
    root = accounts.get(ROOT)
    for name, account in accounts.items():
        account.chain, account.problem = _chain(accounts, name)
    if root is None:
        return
    for account in accounts.values():
        if not account.problem and len(account.chain) > 1:
            account.chain[1].children.append(account)


def _chain(accounts: dict[str, Account], name: str) -> tuple[list[Account], str]:
    if ROOT not in accounts:
        return [accounts[name]], f"queue {ROOT!r} does not exist: a hierarchy of queues needs it"
    chain = [accounts[name]]
    while chain[-1].queue.name != ROOT:
        parent = chain[-1].queue.parent or ROOT
        if parent not in accounts:
            return chain, f"queue {name!r}: its ancestor {parent!r} does not exist (spec.parent)"
        if accounts[parent] in chain:
            return chain, f"queue {name!r}: its ancestors form a circle at {parent!r} (spec.parent)"
        chain.append(accounts[parent])
    return chain, ""


def _limit_tree(accounts: dict[str, Account], total: FloatVector) -> None:
    """The size of the cluster is no limit, but what it has nothing of at all nobody may ask for."""
    root = accounts.get(ROOT)
    if root is None:
        return
    offered = total > 0
    offered[CPU] = offered[MEMORY] = True
    root.capability = np.where(offered | np.isfinite(root.capability), root.capability, 0)
    for account in sorted(accounts.values(), key=lambda account: -len(account.chain)):
        account.deserved = np.maximum(account.deserved, account.guarantee)
    children = root.children
    if children:
        root.guarantee = np.sum([child.guarantee for child in children], axis=0)
        root.deserved = np.sum([child.deserved for child in children], axis=0)
    root.real_capability = root.capability
    _limit_children(root)


def _limit_children(parent: Account) -> None:
    guaranteed = np.sum([child.guarantee for child in parent.children], axis=0) if parent.children else 0
    free = np.maximum(parent.real_capability - guaranteed, 0)
    for child in parent.children:
        child.capability = np.where(np.isinf(child.capability), parent.capability, child.capability)
        child.real_capability = np.minimum(free + child.guarantee, child.capability)
        _limit_children(child)
