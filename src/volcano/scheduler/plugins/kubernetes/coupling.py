"""Rules by which a placement on one node matters on others: their answers together, as the engine asks for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from volcano.scheduler.cluster.nodes import Index
from volcano.scheduler.cluster.profiles import Profile


class CouplingRule(Protocol):
    def couples(self, profile: Profile) -> bool:
        """Whether placing such a pod changes the verdict or the score of other nodes for the next one."""

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        """Rows whose verdict or score may have changed because `changed` did; None means all."""


def couples(rules: Iterable[CouplingRule | None], profile: Profile) -> bool:
    return any(rule.couples(profile) for rule in filter(None, rules))


def affected(rules: Iterable[CouplingRule | None], profile: Profile, changed: Index) -> Index | None:
    found = None
    for rule in rules:
        rows = rule.affected(profile, changed) if rule is not None else changed[:0]
        if rows is None:
            return None
        if len(rows):
            found = rows if found is None else np.union1d(found, rows)
    return changed[:0] if found is None else found
