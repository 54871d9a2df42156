"""Exclusive rules: pods that match the same rule never share a card. vgpu.py applies them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from volcano.api.core import Pod

Rule = Mapping[str, str]
"""Labels that a pod must have, all of them."""


def parse(raw: Any) -> list[Rule]:
    """Maps of labels to values, as in the configuration; what is none is left out."""
    entries: Iterable[Any] = raw if isinstance(raw, list) else ()
    rules = []
    for entry in entries:
        labels = entry if isinstance(entry, Mapping) else {}
        rule: Rule = {str(key): value for key, value in labels.items() if isinstance(value, str)}
        if rule:
            rules.append(rule)
    return rules


def matching(pod: Pod, rules: Iterable[Rule]) -> frozenset[int]:
    """Which rules the pod matches, by position."""
    labels = pod.metadata.labels
    return frozenset(i for i, rule in enumerate(rules) if rule and rule.items() <= labels.items())
