"""network-topology-aware: which domains a job may use, which of them is best, and which nodes are near its own.

Neighbours: packing.py (how full a domain would be), cluster/hypernodes.py (the tree), actions/domains.py (the search).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from volcano.scheduler.cluster.jobs import Job, SubJob
from volcano.scheduler.cluster.nodes import Index
from volcano.scheduler.cluster.resources import FloatVector, fits
from volcano.scheduler.cluster.tasks import NO_NODE, Task
from volcano.scheduler.framework.plugin import Plugin, Scores
from volcano.scheduler.framework.session import Session
from volcano.scheduler.framework.topology import Limit
from volcano.scheduler.plugins.network_topology.packing import Packing

FULL_SCORE = 100.0


class Arguments(msgspec.Struct, frozen=True):
    prefixes: ClassVar[tuple[str, ...]] = ("hypernode.binpack.resources.",)
    weight: int = 1
    cpu: int = msgspec.field(default=1, name="hypernode.binpack.cpu")
    memory: int = msgspec.field(default=1, name="hypernode.binpack.memory")
    resources: str = msgspec.field(default="", name="hypernode.binpack.resources")
    packs_normal_pods: bool = msgspec.field(default=True, name="hypernode.binpack.normal-pod.enable")
    fading: float = msgspec.field(default=0.8, name="hypernode.binpack.normal-pod.fading")
    evict_domains: int = msgspec.field(default=8, name="hypernode.gradient.evict.max-hypernodes")
    rest: dict[str, Any] = msgspec.field(default_factory=dict)


class NetworkTopologyAware(Plugin):
    name = "network-topology-aware"
    Arguments = Arguments
    watches = ("hypernodes",)

    def open(self, session: Session) -> None:
        arguments: Arguments = self.arguments
        self.weight = FULL_SCORE * (arguments.weight if arguments.weight >= 0 else 1)
        self.fading = arguments.fading if arguments.fading >= 0 else 0.8
        self.tree = session.topology.tree
        self.packing = Packing(session, self.tree, _weights(arguments))

    # Domains

    def hypernode_gradients(self, subject: Job | SubJob, root: str, purpose: str) -> Sequence[Sequence[str]]:
        """Groups of domains, to be tried in this order: the lowest tiers first, or the widest where others must go."""
        limit = self.session.topology.limit(subject)
        if limit is None:
            return [[root]]
        start = self._start(subject, root, limit)
        if not start:
            return []
        by_tier: defaultdict[int, list[str]] = defaultdict(list)
        needed = self._needed(subject)
        for name in self.tree.within(start):
            if self.tree[name].tier <= limit.tier and self._is_eligible(subject, name, needed, purpose):
                by_tier[self.tree[name].tier].append(name)
        groups = [by_tier[tier] for tier in sorted(by_tier)]
        return groups if purpose == "allocate" else self._widest(groups[::-1])

    def hypernode_order(self, sub_job: SubJob, hypernodes: Mapping[str, Index]) -> Mapping[str, float]:
        """Fuller domains first; between equals the one that already has most of the members."""
        request = sum(
            (task.profile.request for task in sub_job.tasks.values()), start=np.zeros_like(self.session.total)
        )
        scores = {name: self.packing.of_domain(name, request) for name in hypernodes}
        best = max(scores.values(), default=0.0)
        tied = [name for name, score in scores.items() if score == best]
        if len(tied) > 1:
            for name in tied:
                scores[name] += self._present(sub_job, hypernodes[name])
        return {name: score * self.weight for name, score in scores.items()}

    def _start(self, subject: Job | SubJob, root: str, limit: Limit) -> str:
        """Where the search begins: around what is placed already, as far up as the limit allows, but within `root`."""
        home = subject.allocated_hypernode
        if not home:
            return root
        allowed = [name for name in self.tree.ancestors(home) if self.tree[name].tier <= limit.tier]
        if not allowed:
            return ""
        around = allowed[-1]
        common = self.tree.common(around, root)
        if common == around:
            return root
        return around if common == root else ""

    def _is_eligible(self, subject: Job | SubJob, name: str, needed: FloatVector, purpose: str) -> bool:
        """Whether what is asked for at least could be there."""
        if subject.allocated_hypernode:
            return True
        if purpose != "allocate":
            return fits(needed, self.packing.allocatable(name))
        return fits(needed, self.packing.idle(name)) or fits(needed, self.packing.future_idle(name))

    def _needed(self, subject: Job | SubJob) -> FloatVector:
        needed = np.zeros_like(self.session.total)
        if isinstance(subject, Job):
            return needed + self.session.cluster.dimensions.from_amounts(subject.min_resources or {})
        pending = subject.job.pending
        for uid, task in subject.tasks.items():
            if uid in pending:
                needed += task.profile.request
        return needed

    def _widest(self, groups: Sequence[Sequence[str]]) -> list[list[str]]:
        """At most so many domains; of the group that does not fit, its last ones."""
        left = self.arguments.evict_domains if self.arguments.evict_domains > 0 else 8
        chosen: list[list[str]] = []
        for group in groups:
            if left <= 0:
                break
            chosen.append(list(group[-left:]))
            left -= len(chosen[-1])
        return chosen

    # Nodes

    def domain_scores(self, task: Task, rows: Index) -> Scores | None:
        """Nearness to the members of its sub-job; for pods without a wish for topology, how full the domains are."""
        sub_job = task.sub_job
        if sub_job is None or self.tree.is_flat:
            return None
        if self.session.topology.limit(sub_job) is not None:
            return self._nearness(sub_job, rows) if sub_job.allocated_hypernode else None
        if not self.arguments.packs_normal_pods:
            return None
        return self.packing.of_nodes(task.profile.request, rows, self.fading) * self.weight

    def _nearness(self, sub_job: SubJob, rows: Index) -> Scores:
        tree = self.tree
        lowest = tree.tiers[0]
        leaves = tree.at_tier(lowest)
        codes = tree.codes(lowest)[rows]
        near = np.zeros(len(leaves) + 1)  # the last one is for nodes in no domain, whose code is -1
        for code in np.unique(codes[codes >= 0]).tolist():
            near[code] = self._near(leaves[code].name, sub_job.allocated_hypernode)
        scores = near[codes]
        best = scores == scores.max()
        if best.sum() > 1:
            scores = scores + np.where(best & (codes >= 0), self._present_per_leaf(sub_job, len(leaves))[codes], 0.0)
        return np.asarray(scores * self.weight)

    def _near(self, leaf: str, home: str) -> float:
        """1 at home, less with every tier that must be crossed to get there."""
        lowest, highest = self.tree.tiers[0], self.tree.tiers[-1]
        if leaf == home or lowest == highest:
            return 1.0
        return (highest - self.tree[self.tree.common(leaf, home)].tier) / (highest - lowest)

    def _present(self, sub_job: SubJob, rows: Index) -> float:
        """The share of the sub-job's members that are on these nodes."""
        on = _nodes_of(sub_job)
        return float(np.isin(on, rows).sum() / len(sub_job.tasks)) if len(on) else 0.0

    def _present_per_leaf(self, sub_job: SubJob, leaves: int) -> Scores:
        """The same for every domain of the lowest tier at once; and 0 for no domain."""
        codes = self.tree.codes(self.tree.tiers[0])[_nodes_of(sub_job)]
        counts = np.bincount(codes[codes >= 0], minlength=leaves + 1)
        return counts / max(len(sub_job.tasks), 1)


def _nodes_of(sub_job: SubJob) -> Index:
    return np.array([task.node for task in sub_job.tasks.values() if task.node != NO_NODE], dtype=np.intp)


def _weights(arguments: Arguments) -> dict[str, int]:
    names = [name.strip() for name in arguments.resources.split(",") if name.strip()]
    prefix = Arguments.prefixes[0]
    weights = {name: arguments.rest.get(prefix + name, 1) for name in names}
    weights |= {"cpu": arguments.cpu, "memory": arguments.memory}
    return {name: weight if isinstance(weight, int) and weight >= 0 else 1 for name, weight in weights.items()}
