"""Topology from node labels: one domain for each value of a label, one tier for each label of a topology type.

Pure. Called by controller.py with all nodes; names of domains that exist already are kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from volcano.api.meta import JsonObject
from volcano.controllers.hypernode.config import LABEL
from volcano.controllers.hypernode.documents import hypernode

SUFFIX_LENGTH: Final = 5
_UNFIT: Final = re.compile(r"[^a-z0-9.-]")
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"  # as Kubernetes' own random suffixes: no words come of it


@dataclass(slots=True)
class Domain:
    """The nodes that share a value of a label."""

    name: str
    tier: int
    key: str
    value: str
    members: set[str] = field(default_factory=set)


def discover(
    types: Mapping[str, Sequence[str]], nodes: Mapping[str, Mapping[str, str]], present: Iterable[JsonObject]
) -> list[JsonObject]:
    """The hypernodes that the labels of `nodes` (by name) make; `types` has label keys, lowest tier first."""
    names = _Names(present)
    found: list[Domain] = []
    for type_, levels in types.items():
        found += _domains(type_, levels, nodes, names)
    return [
        hypernode(
            domain.name, LABEL, domain.tier, domain.members, tier_name=domain.key, labels={domain.key: domain.value}
        )
        for domain in found
    ]


def ambiguous(types: Mapping[str, Sequence[str]], nodes: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Values whose nodes lie in several domains of the next tier: the same rack number in two halls, for example."""
    parents: dict[tuple[str, str, str], set[str]] = {}
    for levels in types.values():
        for labels in nodes.values():
            for lower, upper in pairwise(levels):
                if labels.get(lower) and labels.get(upper):
                    parents.setdefault((lower, labels[lower], upper), set()).add(labels[upper])
                else:
                    break
    return [
        f"nodes with {lower}={value} have different values of {upper}: {', '.join(sorted(uppers))}"
        for (lower, value, upper), uppers in sorted(parents.items())
        if len(uppers) > 1
    ]


def _domains(type_: str, levels: Sequence[str], nodes: Mapping[str, Mapping[str, str]], names: _Names) -> list[Domain]:
    domains: dict[tuple[str, str], Domain] = {}
    for node in sorted(nodes):
        member = node
        for tier, key in enumerate(levels, 1):
            value = nodes[node].get(key)
            if not value:
                break
            domain = domains.get((key, value))
            if domain is None:
                domain = domains[key, value] = Domain(names.of(type_, tier, key, value), tier, key, value)
            domain.members.add(member)
            member = domain.name
    return sorted(domains.values(), key=lambda domain: (domain.tier, domain.value))


class _Names:
    """Names of domains: those that exist are kept, others end in a few letters made from what they stand for."""

    def __init__(self, present: Iterable[JsonObject]) -> None:
        self._present: dict[str, dict[str, str]] = {
            document["metadata"]["name"]: document["metadata"].get("labels") or {} for document in present
        }
        self._taken = set(self._present)

    def of(self, type_: str, tier: int, key: str, value: str) -> str:
        prefix = f"hypernode-{_UNFIT.sub('-', type_.lower())}-tier{tier}-"
        for name, labels in self._present.items():
            if name.startswith(prefix) and labels.get(key) == value:
                return name
        attempt = 0
        while (name := prefix + _suffix(f"{type_}/{key}={value}", attempt)) in self._taken:
            attempt += 1
        self._taken.add(name)
        return name


def _suffix(text: str, attempt: int) -> str:
    digest = hashlib.sha256(f"{text}#{attempt}".encode()).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:SUFFIX_LENGTH])
