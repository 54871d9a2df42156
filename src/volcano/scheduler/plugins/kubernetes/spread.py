"""Topology spread: keep replicas even over zones, hosts or whatever label. Hard constraints filter, soft ones score.

spread_constraints.py says what is wanted, cluster/census.py counts.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano.api import keys
from volcano.scheduler.cluster.census import Census, DomainCounts, Kind
from volcano.scheduler.cluster.nodes import Column, Index, Mask, NodeTable, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.plugins.kubernetes import node_terms, taints
from volcano.scheduler.plugins.kubernetes.resources import NODE_SCORE_MAX
from volcano.scheduler.plugins.kubernetes.spread_constraints import Constraint, Constraints, constraints_of

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster


@dataclass(slots=True)
class _Counted:
    """A constraint with what it counts, on the nodes that its policies let count."""

    constraint: Constraint
    kind: Kind
    eligible: Mask
    eligible_key: Hashable
    self_match: bool


@dataclass(slots=True)
class _Spread:
    counted: tuple[_Counted, ...]
    unlabelled: Mask
    """Rows of the table that lack the label of some constraint."""
    seen: tuple[int, ...]
    """Versions at the last look, for `affected`."""


class TopologySpread:
    """For one session, one half of it: the hard constraints or the soft ones."""

    def __init__(self, cluster: Cluster, *, hard: bool) -> None:
        self._cluster = cluster
        self._nodes: NodeTable = cluster.nodes
        self._hard = hard
        self._constraints: dict[int, Constraints] = {}
        self._by_profile: dict[int, _Spread | None] = {}

    def of(self, profile: Profile) -> Constraints:
        found = self._constraints.get(profile.id)
        if found is None:
            found = self._constraints[profile.id] = constraints_of(self._cluster, profile)
        return found

    def applies(self, profile: Profile) -> bool:
        constraints = self.of(profile)
        return bool(constraints.hard if self._hard else constraints.soft)

    def couples(self, profile: Profile) -> bool:
        return self.applies(profile)

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        """All rows, as a minimum over domains or a normalisation may have shifted; none if no count has moved."""
        spread = self._spread(profile)
        if spread is None:
            return changed[:0]
        versions = tuple(counted.kind.version for counted in spread.counted)
        if versions == spread.seen:
            return changed[:0]
        spread.seen = versions
        return None

    # Filter

    def unlabelled(self, profile: Profile, rows: Rows) -> Mask:
        """Nodes that lack the label of some hard constraint."""
        spread = self._spread(profile)
        return spread.unlabelled[rows.index] if spread else np.zeros(len(rows), dtype=np.bool_)

    def skewed(self, profile: Profile, rows: Rows) -> Mask:
        """Nodes in whose domain one more pod would be too many."""
        spread = self._spread(profile)
        skewed = np.zeros(len(rows), dtype=np.bool_)
        for counted in spread.counted if spread else ():
            constraint = counted.constraint
            domains = self._domains(counted)
            least = 0 if int(domains.exists.sum()) < constraint.min_domains else domains.least
            there = domains.at(rows.index) + int(counted.self_match)
            skewed |= there - least > constraint.max_skew
        return skewed

    # Score

    def raw(self, profile: Profile, rows: Rows) -> NDArray[np.int64]:
        """Per row and soft constraint, the pods in its domain; -1 where the node lacks the label."""
        spread = self._spread(profile)
        counted = spread.counted if spread else ()
        table = np.empty((len(rows), len(counted)), dtype=np.int64)
        for position, part in enumerate(counted):
            key = part.constraint.topology_key
            if key == keys.HOSTNAME:
                numbers = part.kind.column[rows.index]
            else:
                numbers = self._domains(part).at(rows.index)
            table[:, position] = np.where(self._codes(key)[rows.index] >= 0, numbers, -1)
        return table

    def normalize(self, profile: Profile, rows: Index, raw: NDArray[np.int64], feasible: Mask) -> Column:
        """100 for the emptiest domains. Which weight a constraint has depends on how many domains compete."""
        spread = self._spread(profile)
        scores = np.zeros(len(rows), dtype=np.int64)
        if spread is None:
            return scores
        compete = feasible if self.of(profile).is_default else feasible & (raw >= 0).all(axis=1)
        if not compete.any():
            return scores
        total = np.zeros(len(rows), dtype=np.float64)
        for position, part in enumerate(spread.counted):
            key = part.constraint.topology_key
            if key == keys.HOSTNAME:
                domains = int(compete.sum())
            else:
                domains = len(np.unique(self._codes(key)[rows[compete]]))
            weight = np.log(domains + 2)
            numbers = raw[:, position]
            total += np.where(numbers >= 0, numbers * weight + (part.constraint.max_skew - 1), 0.0)
        rounded = np.floor(total + 0.5).astype(np.int64)
        least, largest = int(rounded[compete].min()), max(int(rounded[compete].max()), 0)
        if largest == 0:
            return np.where(compete, NODE_SCORE_MAX, 0)
        return np.where(compete, NODE_SCORE_MAX * (largest + least - rounded) // largest, 0)

    # Inside

    def _spread(self, profile: Profile) -> _Spread | None:
        try:
            return self._by_profile[profile.id]
        except KeyError:
            spread = self._by_profile[profile.id] = self._prepare(profile)
            return spread

    def _prepare(self, profile: Profile) -> _Spread | None:
        constraints = self.of(profile)
        chosen = constraints.hard if self._hard else constraints.soft
        if not chosen:
            return None
        census = self._cluster.index(Census)
        labelled = np.ones(self._nodes.capacity, dtype=np.bool_)
        keys = tuple(sorted(constraint.topology_key for constraint in chosen))
        if not constraints.is_default:
            for key in keys:
                labelled &= self._codes(key) >= 0
        counted = tuple(self._count(census, profile, constraint, labelled, keys) for constraint in chosen)
        unlabelled = np.zeros(self._nodes.capacity, dtype=np.bool_)
        for key in keys:
            unlabelled |= self._codes(key) < 0
        return _Spread(counted, unlabelled, tuple(part.kind.version for part in counted))

    def _count(
        self, census: Census, profile: Profile, constraint: Constraint, labelled: Mask, keys: tuple[str, ...]
    ) -> _Counted:
        spec = profile.pod.spec
        eligible = labelled
        policies: list[object] = [keys]
        if constraint.honors_affinity:
            allowed = node_terms.required(self._nodes, profile.pod)
            if allowed is not None:
                eligible = eligible & allowed
                policies += [spec.node_selector, spec.affinity.node_affinity if spec.affinity else None]
        if constraint.honors_taints:
            eligible = eligible & ~taints.repelled(self._nodes, spec.tolerations)
            policies.append(spec.tolerations)
        kind = census.kind(
            ("spread", constraint.signature), lambda other: int(constraint.counts(other)), settled_only=True
        )
        key = msgspec.msgpack.encode(policies)
        return _Counted(constraint, kind, eligible, key, constraint.counts(profile))

    def _domains(self, counted: _Counted) -> DomainCounts:
        census = self._cluster.index(Census)
        return census.domains(counted.kind, counted.constraint.topology_key, counted.eligible, counted.eligible_key)

    def _codes(self, key: str) -> NDArray[np.int32]:
        return self._nodes.labels.column(key)
