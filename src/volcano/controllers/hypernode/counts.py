"""How many nodes each domain has, through all the domains inside it.

Pure. Called by controller.py when nodes or hypernodes change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from volcano.api.topology import HYPER_NODE
from volcano.scheduler.cluster.selectors import selects

if TYPE_CHECKING:
    from volcano.api.topology import HyperNode, MemberSpec

_NO_LABELS: Mapping[str, str] = {}


class Census:
    """The nodes of every hypernode, each found once."""

    def __init__(self, hypernodes: Mapping[str, HyperNode], nodes: Mapping[str, Mapping[str, str]]) -> None:
        self._hypernodes = hypernodes
        self._nodes = nodes
        self._known: dict[str, frozenset[str]] = {}

    def count(self, name: str) -> int:
        return len(self.nodes_of(name))

    def nodes_of(self, name: str) -> frozenset[str]:
        known = self._known.get(name)
        if known is not None:
            return known
        self._known[name] = frozenset()  # a domain that contains itself adds nothing
        hypernode = self._hypernodes.get(name)
        members = hypernode.spec.members if hypernode is not None else []
        found: frozenset[str] = frozenset().union(*(self._nodes_in(member) for member in members))
        self._known[name] = found
        return found

    def _nodes_in(self, member: MemberSpec) -> frozenset[str]:
        if member.type == HYPER_NODE:
            names = _chosen(member, dict.fromkeys(self._hypernodes, _NO_LABELS))
            return frozenset().union(*(self.nodes_of(name) for name in names))
        return _chosen(member, self._nodes)


def _chosen(member: MemberSpec, candidates: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    """The names among `candidates` that a member's selector picks."""
    selector = member.selector
    if selector.exact_match is not None:
        return frozenset({selector.exact_match.name} & candidates.keys())
    if selector.regex_match is not None:
        try:
            pattern = re.compile(selector.regex_match.pattern)
        except re.error:
            return frozenset()
        return frozenset(name for name in candidates if pattern.search(name))
    labels = selector.label_match
    if labels is None or not (labels.match_labels or labels.match_expressions):
        return frozenset()
    return frozenset(name for name, found in candidates.items() if selects(labels, found))
