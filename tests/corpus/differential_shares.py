"""How many random worlds are decided as the reference did, by family: `python -m tests.corpus.differential_shares`.

A world is equal if every level that was deterministic there is the same, or if we need fewer victims for the same
claimants. Every other one is explained by a correction or a deviation (differential_deviations.py), or it is open.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tests.corpus import (
    differential_deviations as deviations,
    differential_invariants as invariants,
    differential_worlds as differential,
)
from tests.corpus.loader import Record, cases

FAMILIES = (
    "default",
    "scoring",
    "topology",
    "subgroups",
    "capacity-flat",
    "capacity-hierarchy",
    "drf-hdrf",
    "reclaim",
    "preempt",
    "affinity-spread",
    "mixed-plugins",
    "gang-eviction",
    "edge-cases",
)


@cache
def worlds(family: str) -> dict[str, Record]:
    return dict(cases("differential", family))


@cache
def decided(family: str, name: str) -> tuple[invariants.Outcome, dict[str, Any]]:
    """What we decide: with what it was decided on, for invariants, and by the levels of the corpus."""
    record = worlds(family)[name]
    conf = differential.conf_of(record, differential.confs())
    cluster, decisions = differential.run(record, conf)
    outcome = invariants.Outcome(differential.cluster_of(record), conf, decisions)
    return outcome, differential.outcome(cluster, decisions)


@cache
def compared(family: str, name: str) -> tuple[dict[str, str], deviations.Correction | None]:
    """How ours differs, and what was corrected."""
    record = worlds(family)[name]
    got = decided(family, name)[1]
    found = differential.differences(record, got)
    return found, deviations.correction(record, got) if found else None


@dataclass
class Share:
    """The worlds of one family in which the reference broke no invariant of its own."""

    family: str
    worlds: int = 0
    equal: int = 0
    corrected: Counter[str] = field(default_factory=Counter)
    """Why the reference is wrong, with the number of worlds."""
    deviating: Counter[str] = field(default_factory=Counter)
    """Why both are right, with the number of worlds; an empty reason if there is none."""

    def __str__(self) -> str:
        lines = [f"{self.family:20}{self.worlds:6}{self.equal:6}{100 * self.equal / max(self.worlds, 1):8.1f} %"]
        lines += [f"    {count} corrected: {why}" for why, count in self.corrected.items()]
        lines += [f"    {count} otherwise: {why or 'NOT EXPLAINED'}" for why, count in self.deviating.items()]
        return "\n".join(lines)


@cache
def share(family: str) -> Share:
    found = Share(family)
    for name, record in worlds(family).items():
        if record.get("questionable"):
            continue
        found.worlds += 1
        different, correction = compared(family, name)
        if not different:
            found.equal += 1
        elif correction is not None:
            found.corrected[correction.why] += 1
        else:
            found.deviating[deviations.reason(record, decided(family, name)[1])] += 1
    return found


def total(shares: Iterable[Share]) -> Share:
    whole = Share("all")
    for one in shares:
        whole.worlds += one.worlds
        whole.equal += one.equal
    return whole


def main() -> int:
    shares = [share(family) for family in FAMILIES]
    whole = total(shares)
    lines = [f"{'family':20}{'worlds':>6}{'equal':>6}", *map(str, shares), str(whole)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if whole.worlds else 1


if __name__ == "__main__":
    sys.exit(main())
