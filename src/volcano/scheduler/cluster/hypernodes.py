"""HyperNodes: the tree of topology domains over the nodes, made anew when a HyperNode or a Node object changes.

A virtual root holds every node, so that each job can be said to live in some domain. Neighbour: framework/topology.py.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from volcano.api import topology as api
from volcano.scheduler.cluster.nodes import Index, NodeTable
from volcano.scheduler.cluster.selectors import selects

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster

ROOT: Final = "<cluster-top-hypernode>"


@dataclass(slots=True)
class HyperNode:
    name: str
    tier: int
    tier_name: str = ""
    parent: str = ""
    children: list[str] = field(default_factory=list)
    rows: Index = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """The nodes in it, directly or below."""


class HyperNodes:
    """The tree with its root. `problems` says what is wrong with it; jobs that ask for topology then wait."""

    def __init__(self, domains: Iterable[HyperNode], nodes: NodeTable, problems: Iterable[str] = ()) -> None:
        self.problems = tuple(problems)
        self.domains: dict[str, HyperNode] = {domain.name: domain for domain in domains}
        self.tiers = sorted({domain.tier for domain in self.domains.values()})
        root = HyperNode(ROOT, tier=self.tiers[-1] + 1 if self.tiers else 1, rows=nodes.active)
        for domain in self.domains.values():
            if not domain.parent:
                domain.parent = ROOT
                root.children.append(domain.name)
        self.domains[ROOT] = root
        self.tiers.append(root.tier)
        self._capacity = nodes.capacity
        self._codes: dict[int, NDArray[np.int32]] = {}
        self._chains: dict[str, list[str]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.domains

    def __getitem__(self, name: str) -> HyperNode:
        return self.domains[name]

    @property
    def is_flat(self) -> bool:
        """There is nothing but the root."""
        return len(self.domains) == 1

    @cached_property
    def tier_numbers(self) -> dict[str, int]:
        return {domain.tier_name: domain.tier for domain in self.domains.values() if domain.tier_name}

    def at_tier(self, tier: int) -> list[HyperNode]:
        return self._by_tier[tier]

    @cached_property
    def _by_tier(self) -> defaultdict[int, list[HyperNode]]:
        by_tier: defaultdict[int, list[HyperNode]] = defaultdict(list)
        for domain in self.domains.values():
            by_tier[domain.tier].append(domain)
        return by_tier

    def codes(self, tier: int) -> NDArray[np.int32]:
        """Per row of the node table, which of `at_tier(tier)` the node is in; -1 if none."""
        codes = self._codes.get(tier)
        if codes is None:
            codes = self._codes[tier] = np.full(self._capacity, -1, dtype=np.int32)
            for number, domain in enumerate(self.at_tier(tier)):
                codes[domain.rows] = number
        return codes

    def ancestors(self, name: str) -> list[str]:
        """The domain itself and all around it, up to the root."""
        chain = self._chains.get(name)
        if chain is None:
            parent = self.domains[name].parent
            chain = self._chains[name] = [name, *self.ancestors(parent)] if parent else [name]
        return chain

    def common(self, left: str, right: str) -> str:
        """The smallest domain that holds both; an empty name yields the other."""
        if not left or not right:
            return left or right
        around = set(self.ancestors(left))
        return next((name for name in self.ancestors(right) if name in around), "")

    def smallest_holding(self, rows: Index) -> str:
        """The domain of the lowest tier that holds all these nodes; empty if there are none."""
        if not len(rows):
            return ""
        for tier in self.tiers:
            codes = self.codes(tier)[rows]
            if codes[0] >= 0 and (codes == codes[0]).all():
                return self.at_tier(tier)[int(codes[0])].name
        return ""

    def lowest_of(self, row: int) -> str:
        """The node's domain of the cluster's lowest tier; nodes that are in none have no home."""
        code = int(self.codes(self.tiers[0])[row])
        return self.at_tier(self.tiers[0])[code].name if code >= 0 else ""

    def within(self, name: str) -> list[str]:
        """The domain and everything in it, breadth first."""
        found = [name]
        for domain in found:
            found += self.domains[domain].children
        return found


class Topology:
    """Keeps the tree of one cluster: an index beside its tables (`cluster.index(Topology)`)."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: tuple[int, int] | None = None
        self._tree: HyperNodes | None = None

    def tree(self) -> HyperNodes:
        cluster = self._cluster
        seen = (cluster.object_versions["hypernodes"], cluster.nodes.object_changes.cursor)
        if self._tree is None or seen != self._seen:
            self._tree = derive(cluster.objects["hypernodes"], cluster.nodes)
            self._seen = seen
        return self._tree

    def fix(self, tree: HyperNodes) -> None:
        """Use this tree until something changes."""
        self._tree = tree
        self._seen = (
            self._cluster.object_versions["hypernodes"],
            self._cluster.nodes.object_changes.cursor,
        )


def derive(objects: Mapping[str, api.HyperNode], nodes: NodeTable) -> HyperNodes:
    """The tree that the HyperNode objects describe."""
    domains = {
        source.metadata.name: HyperNode(source.metadata.name, source.spec.tier, source.spec.tier_name)
        for source in objects.values()
    }
    problems: list[str] = []
    direct: defaultdict[str, set[int]] = defaultdict(set)
    for source in objects.values():
        name = source.metadata.name
        for member in source.spec.members:
            if member.type == api.NODE:
                direct[name].update(_matching(member.selector, nodes))
            else:
                _adopt(domains, name, member.selector, problems)
    for name in _in_circles(domains):
        problems.append(f"hypernode {name!r} is a part of itself (spec.members)")
        domains[name].parent, domains[name].children = "", []
    for name, domain in domains.items():
        domain.rows = np.array(sorted(_rows_below(domains, direct, name)), dtype=np.intp)
    return HyperNodes(domains.values(), nodes, problems)


def _matching(selector: api.MemberSelector, nodes: NodeTable) -> set[int]:
    if selector.exact_match is not None:
        row = nodes.row_of.get(selector.exact_match.name)
        return set() if row is None else {row}
    if selector.regex_match is not None:
        try:
            pattern = re.compile(selector.regex_match.pattern)
        except re.error:
            return set()
        return {row for name, row in nodes.row_of.items() if pattern.search(name)}
    return {
        row
        for row in nodes.row_of.values()
        if (node := nodes.objects[row]) is not None and selects(selector.label_match, node.metadata.labels)
    }


def _adopt(domains: dict[str, HyperNode], parent: str, selector: api.MemberSelector, problems: list[str]) -> None:
    child = selector.exact_match.name if selector.exact_match is not None else ""
    if child not in domains:
        return
    if domains[child].parent and domains[child].parent != parent:
        problems.append(f"hypernode {child!r} is a member of both {domains[child].parent!r} and {parent!r}")
        return
    domains[child].parent = parent
    domains[parent].children.append(child)


def _in_circles(domains: dict[str, HyperNode]) -> list[str]:
    found = []
    for name in domains:
        seen: set[str] = set()
        at = name
        while at and at not in seen:
            seen.add(at)
            at = domains[at].parent
        if at == name:
            found.append(name)
    return found


def _rows_below(domains: dict[str, HyperNode], direct: Mapping[str, set[int]], name: str) -> set[int]:
    rows = set(direct.get(name, ()))
    for child in domains[name].children:
        rows |= _rows_below(domains, direct, child)
    return rows
