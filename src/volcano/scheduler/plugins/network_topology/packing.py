"""How full domains are, and would be: sums over the nodes of each domain, taken from the live tables."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from volcano.scheduler.cluster.hypernodes import HyperNodes
from volcano.scheduler.cluster.nodes import Index
from volcano.scheduler.cluster.resources import AnyVector, FloatVector
from volcano.scheduler.framework.plugin import Scores
from volcano.scheduler.framework.session import Session


class Packing:
    def __init__(self, session: Session, tree: HyperNodes, weights: Mapping[str, int]) -> None:
        self._nodes = session.nodes
        self._tree = tree
        dimensions = session.cluster.dimensions
        known = {d: weight for name, weight in weights.items() if (d := dimensions.find(name)) is not None}
        self._dimensions = list(known)
        self._weights = np.array(list(known.values()), dtype=np.float64)

    def allocatable(self, name: str) -> FloatVector:
        return self._sum(self._nodes.allocatable, name)

    def idle(self, name: str) -> FloatVector:
        return self._sum(self._nodes.idle, name)

    def future_idle(self, name: str) -> FloatVector:
        rows = self._tree[name].rows
        return np.asarray(self._nodes.future_idle(rows).sum(axis=0, dtype=np.float64))

    def of_domain(self, name: str, request: AnyVector) -> float:
        """0 … 1, how full the domain would be; 0 if it would be more than full."""
        used = self._sum(self._nodes.requested, name)[self._dimensions] + request[self._dimensions]
        offered = self.allocatable(name)[self._dimensions]
        return float(self._fullness(used[None, :], offered[None, :])[0])

    def of_nodes(self, request: AnyVector, rows: Index, fading: float) -> Scores:
        """Per node, the fullness of its domains with this pod, lower tiers counting more.

        A node that is in no domain of a tier counts as the best there is.
        """
        tree = self._tree
        weights = np.array([fading ** (tier - 1) for tier in tree.tiers])
        total = np.zeros(len(rows))
        asked = [d for d in self._dimensions if request[d] > 0]
        if not asked or not weights.sum():
            return total
        for tier, weight in zip(tree.tiers, weights / weights.sum(), strict=True):
            domains = tree.at_tier(tier)
            used = np.array([self._sum(self._nodes.requested, domain.name) for domain in domains])
            offered = np.array([self.allocatable(domain.name) for domain in domains])
            full = self._fullness(used[:, self._dimensions] + request[self._dimensions], offered[:, self._dimensions])
            codes = tree.codes(tier)[rows]
            total += weight * np.where(codes >= 0, full[codes], 1.0)
        return total

    def _fullness(self, used: FloatVector, offered: FloatVector) -> FloatVector:
        if not self._weights.sum():
            return np.zeros(len(used))
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(offered > 0, used / offered, 0.0)
        full = (parts * self._weights).sum(axis=1) / self._weights.sum()
        return np.where((used > offered).any(axis=1), 0.0, full)

    def _sum(self, amounts: AnyVector, name: str) -> FloatVector:
        return np.asarray(amounts[self._tree[name].rows].sum(axis=0, dtype=np.float64))
