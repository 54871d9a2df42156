"""The census: how many pods of which kind are on each node and in each topology domain, kept by delta.

Inter-pod affinity, topology spread and host ports ask it. A kind is a function of the profile; cluster.py tells every
move of a pod, within a cycle and between cycles, so that undoing a placement restores the counts exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.nodes import Column, Index, Mask, NodeTable
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.tasks import Status

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster

Weigh = Callable[[Profile], int]
"""How much one pod of this profile counts; 0 for most."""

SESSIONS_KEPT: Final = 16
"""A kind that nobody asked for in so many sessions is forgotten."""


class DomainCounts:
    """A kind's numbers per value of one node label, over the nodes of a mask (None: all)."""

    __slots__ = ("codes", "exists", "mask", "sums")

    def __init__(self, column: Column, codes: NDArray[np.int32], values: int, mask: Mask | None) -> None:
        self.codes = codes
        self.mask = mask
        counted = column if mask is None else np.where(mask, column, 0)
        self.sums: Column = np.bincount(codes + 1, weights=counted, minlength=values + 1).astype(np.int64)
        self.sums[0] = 0
        present = np.bincount(codes + 1 if mask is None else codes[mask] + 1, minlength=values + 1) > 0
        present[0] = False
        self.exists: Mask = present
        """Which values some node of the mask has."""

    def add(self, rows: Index, amounts: Column) -> None:
        if self.mask is not None:
            amounts = np.where(self.mask[rows], amounts, 0)
        if len(rows) == 1:
            self.sums[self.codes[rows[0]] + 1] += amounts[0]
        else:
            np.add.at(self.sums, self.codes[rows] + 1, amounts)
        self.sums[0] = 0

    def at(self, rows: Index) -> Column:
        """The number in each row's domain; 0 where the node has no such label."""
        found: Column = self.sums[self.codes[rows] + 1]
        return found

    @property
    def least(self) -> int:
        """The smallest number of any domain, a very large one if there is none."""
        return int(self.sums[self.exists].min()) if self.exists.any() else 1 << 40

    @property
    def is_empty(self) -> bool:
        return not self.sums.any()


class Kind:
    """One kind of pods: its numbers per row and, for label keys that somebody asked for, per domain."""

    __slots__ = ("column", "domains", "settled_only", "used", "version", "weigh")

    def __init__(self, weigh: Weigh, capacity: int, *, settled_only: bool) -> None:
        self.weigh = weigh
        self.settled_only = settled_only
        """Do not count pods that are terminating."""
        self.column: Column = np.zeros(capacity, dtype=np.int64)
        self.domains: dict[tuple[str, Hashable], DomainCounts] = {}
        self.version = 0
        self.used = 0

    def add(self, rows: Index, amounts: Column) -> None:
        self.column[rows] += amounts
        self.version += 1
        for domain in self.domains.values():
            domain.add(rows, amounts)


class Census:
    def __init__(self, cluster: Cluster) -> None:
        self._nodes: NodeTable = cluster.nodes
        self._profiles: dict[int, Profile] = {}
        self._placed: tuple[dict[int, dict[int, int]], ...] = ({}, {})
        """Pods per profile and row: settled ones, terminating ones."""
        self._kinds: dict[Hashable, Kind] = {}
        self._relevant: dict[int, list[tuple[Kind, int]]] = {}
        self._cursor = cluster.nodes.object_changes.cursor
        self._session = 0
        self._count_all()
        cluster.on_pods_moved.append(self._moved)
        cluster.nodes.on_grow(self._grow)

    def begin(self) -> None:
        """A session opens: labels of nodes may have changed; forget what nobody asks for any more."""
        self._session += 1
        cursor = self._nodes.object_changes.cursor
        if cursor != self._cursor:
            self._cursor = cursor
            for kind in self._kinds.values():
                kind.domains.clear()
                kind.version += 1
        stale = [key for key, kind in self._kinds.items() if kind.used + SESSIONS_KEPT < self._session]
        if stale:
            for key in stale:
                del self._kinds[key]
            self._relevant.clear()

    def kind(self, key: Hashable, weigh: Weigh, *, settled_only: bool = False) -> Kind:
        """The kind of this key, counted now if it is new. `key` must say all that `weigh` depends on."""
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = Kind(weigh, self._nodes.capacity, settled_only=settled_only)
            self._fill(kind)
            self._relevant.clear()
        kind.used = self._session
        return kind

    def domains(
        self, kind: Kind, label: str, eligible: Mask | None = None, eligible_key: Hashable = None
    ) -> DomainCounts:
        """The kind's numbers per value of a node label. `eligible_key` names the mask."""
        found = kind.domains.get((label, eligible_key))
        if found is None:
            labels = self._nodes.labels
            codes = labels.column(label)
            found = DomainCounts(kind.column, codes, len(labels.values(label)), eligible)
            kind.domains[label, eligible_key] = found
        return found

    # Inside

    def _count_all(self) -> None:
        for row, tasks in enumerate(self._nodes.tasks):
            for task in tasks.values():
                self._note(task.profile, row, 1, task.status is Status.RELEASING)

    def _note(self, profile: Profile, row: int, number: int, terminating: bool) -> None:
        self._profiles.setdefault(profile.id, profile)
        rows = self._placed[terminating].setdefault(profile.id, {})
        count = rows.get(row, 0) + number
        if count:
            rows[row] = count
        else:
            rows.pop(row, None)

    def _moved(self, rows: Index, counts: Column, profile: Profile, terminating: bool) -> None:
        for row, number in zip(rows.tolist(), counts.tolist(), strict=True):
            self._note(profile, row, number, terminating)
        relevant = self._relevant.get(profile.id)
        if relevant is None:
            weighed = [(kind, kind.weigh(profile)) for kind in self._kinds.values()]
            relevant = self._relevant[profile.id] = [(kind, weight) for kind, weight in weighed if weight]
        for kind, weight in relevant:
            if not (terminating and kind.settled_only):
                kind.add(rows, counts * weight)

    def _fill(self, kind: Kind) -> None:
        for placed in self._placed[:1] if kind.settled_only else self._placed:
            for number, rows in placed.items():
                weight = kind.weigh(self._profiles[number]) if rows else 0
                if weight:
                    index = np.fromiter(rows, dtype=np.intp, count=len(rows))
                    kind.column[index] += weight * np.fromiter(rows.values(), dtype=np.int64, count=len(rows))

    def _grow(self, capacity: int) -> None:
        for kind in self._kinds.values():
            longer = np.zeros(capacity, dtype=np.int64)
            longer[: len(kind.column)] = kind.column
            kind.column = longer
            kind.domains.clear()
