"""nodeorder: the weighted sum of Kubernetes' node scores.

The scores themselves live in plugins/kubernetes/; each weight is an argument, and 0 leaves its score out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from volcano.scheduler.cluster.census import Census
from volcano.scheduler.cluster.nodes import Column, Index, Mask, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import CPU, MEMORY
from volcano.scheduler.framework.plugin import Plugin, ScoreTerm
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.kubernetes import coupling, inter_pod, node_terms, resources, taints
from volcano.scheduler.plugins.kubernetes.images import Images
from volcano.scheduler.plugins.kubernetes.inter_pod import InterPodAffinity
from volcano.scheduler.plugins.kubernetes.resources import NODE_SCORE_MAX
from volcano.scheduler.plugins.kubernetes.spread import TopologySpread
from volcano.scheduler.plugins.kubernetes.spread_constraints import OWNERS


def _weight(name: str, default: int) -> Any:
    return msgspec.field(default=default, name=f"{name}.weight")


class Arguments(msgspec.Struct, frozen=True):
    least_requested: int = _weight("leastrequested", 1)
    most_requested: int = _weight("mostrequested", 0)
    balanced: int = _weight("balancedresource", 1)
    node_affinity: int = _weight("nodeaffinity", 2)
    images: int = _weight("imagelocality", 1)
    pod_affinity: int = _weight("podaffinity", 2)
    taints: int = _weight("tainttoleration", 3)
    topology_spread: int = _weight("podtopologyspread", 2)


class NodeOrder(Plugin):
    name = "nodeorder"
    Arguments = Arguments
    judges_by_queue = False
    watches = ("namespaces", "services", *OWNERS.values())

    def open(self, session: Session) -> None:
        arguments: Arguments = self.arguments
        cluster = session.cluster
        self._inter_pod = InterPodAffinity(cluster, required=False) if arguments.pod_affinity else None
        self._spread = TopologySpread(cluster, hard=False) if arguments.topology_spread else None
        self._images = cluster.index(Images) if arguments.images else None
        if self._images is not None:
            self._images.refresh()
        gpu = cluster.dimensions.find("nvidia.com/gpu")
        self._balanced = [CPU, MEMORY] if gpu is None else [CPU, MEMORY, gpu]
        cluster.index(Census).begin()

    def score_terms(self, profile: Profile) -> Sequence[ScoreTerm]:
        return [
            *self._resource_terms(profile),
            *self._node_terms(profile),
            *self._company_terms(profile),
        ]

    def couples_nodes(self, profile: Profile) -> bool:
        return coupling.couples((self._inter_pod, self._spread), profile)

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        return coupling.affected((self._inter_pod, self._spread), profile, changed)

    def _resource_terms(self, profile: Profile) -> list[ScoreTerm]:
        """Scores that change with every placement."""
        arguments: Arguments = self.arguments
        terms = []
        even, single = {CPU: 50, MEMORY: 50}, {CPU: 1, MEMORY: 1}
        if arguments.least_requested:
            terms.append(
                ScoreTerm(
                    lambda p, rows: resources.least_allocated(p, rows, even),
                    weight=arguments.least_requested,
                    own_rows=True,
                )
            )
        if arguments.most_requested:
            terms.append(
                ScoreTerm(
                    lambda p, rows: resources.most_allocated(p, rows, single),
                    weight=arguments.most_requested,
                    own_rows=True,
                )
            )
        if arguments.balanced and any(profile.request[dimension] > 0 for dimension in self._balanced):
            terms.append(ScoreTerm(self._balance, weight=arguments.balanced, own_rows=True))
        return terms

    def _balance(self, profile: Profile, rows: Rows) -> Column:
        scores = resources.balanced_allocation(profile, rows, self._balanced)
        return np.zeros(len(rows), dtype=np.int64) if scores is None else scores

    def _node_terms(self, profile: Profile) -> list[ScoreTerm]:
        """Scores that only node objects decide."""
        arguments: Arguments = self.arguments
        terms = []
        liked = node_terms.preferred(self.nodes, profile.pod) if arguments.node_affinity else None
        if liked is not None:
            terms.append(
                ScoreTerm(_looked_up(liked), _more_is_better, arguments.node_affinity, own_rows=True, settled=True)
            )
        if arguments.taints:
            unloved = taints.unloved(self.nodes, profile.pod.spec.tolerations)
            if unloved.any():
                terms.append(
                    ScoreTerm(_looked_up(unloved), _less_is_better, arguments.taints, own_rows=True, settled=True)
                )
            else:
                everywhere = np.full(self.nodes.capacity, NODE_SCORE_MAX, dtype=np.int64)
                terms.append(ScoreTerm(_looked_up(everywhere), weight=arguments.taints, settled=True))
        local = self._images.score(profile.pod) if self._images is not None else None
        if local is not None:
            terms.append(ScoreTerm(_looked_up(local), weight=arguments.images, settled=True))
        return terms

    def _company_terms(self, profile: Profile) -> list[ScoreTerm]:
        """Scores that depend on where other pods are."""
        arguments: Arguments = self.arguments
        terms = []
        if self._inter_pod is not None and self._inter_pod.scores(profile):
            terms.append(ScoreTerm(self._inter_pod.raw, inter_pod.normalize, arguments.pod_affinity))
        spread = self._spread
        if spread is not None and spread.applies(profile):

            def normalize(raw: Column, feasible: Mask) -> Column:
                return spread.normalize(profile, self.session.rows, raw, feasible)

            terms.append(ScoreTerm(spread.raw, normalize, arguments.topology_spread))
        return terms


def _looked_up(column: Column) -> Any:
    """A raw score that is known for the whole table."""

    return lambda _profile, rows: column[rows.index]


def _more_is_better(raw: Column, feasible: Mask) -> Column:
    """0 to 100, in proportion to the largest of those that compete."""
    largest = int(raw[feasible].max()) if feasible.any() else 0
    return NODE_SCORE_MAX * raw // largest if largest > 0 else raw * 0


def _less_is_better(raw: Column, feasible: Mask) -> Column:
    largest = int(raw[feasible].max()) if feasible.any() else 0
    if largest <= 0:
        return np.full(len(raw), NODE_SCORE_MAX, dtype=np.int64)
    return NODE_SCORE_MAX - NODE_SCORE_MAX * raw // largest
