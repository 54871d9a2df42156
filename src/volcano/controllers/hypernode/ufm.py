"""Topology from UFM, the manager of an InfiniBand fabric: nodes behind the same leaf switches are close.

Pure. Called by controller.py with the ports that UFM lists; ufm_client.py fetches them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from volcano.api.meta import JsonObject, Model
from volcano.controllers.hypernode.config import UFM
from volcano.controllers.hypernode.documents import hypernode

LEAF_PREFIX: Final = "leaf-hn-"
SPINE: Final = "spine-hn"
COMPUTER: Final = "Computer"


class Port(Model, rename=None, kw_only=True):
    """A port of the fabric, as UFM's REST interface tells it."""

    description: str = ""
    tier: int | str = 0
    system_name: str = ""
    node_description: str = ""
    peer_node_name: str = ""


def discover(ports: Iterable[Port], present: Mapping[str, frozenset[str]] | None = None) -> list[JsonObject]:
    """The hypernodes of the fabric; `present` are the leaves known so far, whose names stay with their nodes."""
    groups = leaf_groups(ports)
    if not groups:
        return []
    names = _names(groups, present or {})
    leaves = [hypernode(name, UFM, 1, nodes) for name, nodes in sorted(zip(names, groups, strict=True))]
    return [*leaves, hypernode(SPINE, UFM, 2, names)]


def leaf_groups(ports: Iterable[Port]) -> list[list[str]]:
    """Nodes that are connected through leaf switches they share, each group sorted, in the order of their first."""
    nodes_of: dict[str, set[str]] = {}
    for port in ports:
        if COMPUTER in port.description and port.peer_node_name and port.system_name:
            nodes_of.setdefault(port.peer_node_name, set()).add(port.system_name)
    groups: list[set[str]] = []
    for nodes in nodes_of.values():
        touching = [group for group in groups if group & nodes]
        groups = [group for group in groups if not group & nodes]
        groups.append(nodes.union(*touching))
    return sorted(sorted(group) for group in groups)


def _names(groups: Sequence[Sequence[str]], present: Mapping[str, frozenset[str]]) -> list[str]:
    """The known leaf with most nodes in common lends its name, so that a lost switch does not rename all others."""
    overlaps = sorted(
        (-len(nodes & set(group)), name, position)
        for position, group in enumerate(groups)
        for name, nodes in present.items()
        if nodes & set(group)
    )
    chosen: dict[int, str] = {}
    for _, name, position in overlaps:
        if position not in chosen and name not in chosen.values():
            chosen[position] = name
    free = (name for index in range(len(groups) * 2) if (name := f"{LEAF_PREFIX}{index}") not in chosen.values())
    return [chosen[position] if position in chosen else next(free) for position in range(len(groups))]
