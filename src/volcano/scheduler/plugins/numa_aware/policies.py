"""What the kubelet's topology manager makes of hints: which NUMA cells a container gets, and whether it is let in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from volcano.scheduler.plugins.numa_aware import bits

NONE: Final = "none"
BEST_EFFORT: Final = "best-effort"
RESTRICTED: Final = "restricted"
SINGLE_NUMA_NODE: Final = "single-numa-node"


@dataclass(frozen=True, slots=True)
class Hint:
    """A set of NUMA cells, or None for whatever cells."""

    cells: int | None
    preferred: bool


Hints = Mapping[str, Sequence[Hint] | None]
"""By resource. None: no preference; empty: it cannot be had."""


def choose(policy: str, providers: Iterable[Hints], cells: Sequence[int]) -> tuple[Hint, bool]:
    """The best common hint, and whether the policy admits it."""
    everywhere = bits.of(cells)
    lists = [_listed(hints) for provider in providers for hints in _of_provider(provider)]
    if policy == SINGLE_NUMA_NODE:
        lists = [[hint for hint in hints if _is_single(hint)] for hints in lists]
    best = Hint(everywhere, preferred=False)
    for combination in product(*lists):
        merged = _merge(combination, everywhere)
        if merged.cells and _is_better(merged, best):
            best = merged
    return best, best.preferred or policy not in (RESTRICTED, SINGLE_NUMA_NODE)


def _of_provider(provider: Hints) -> Iterable[Sequence[Hint] | None]:
    return provider.values() or (None,)  # who has no opinion agrees with everything


def _listed(hints: Sequence[Hint] | None) -> Sequence[Hint]:
    if hints is None:
        return (Hint(None, preferred=True),)
    return hints or (Hint(None, preferred=False),)


def _is_single(hint: Hint) -> bool:
    return hint.preferred and (hint.cells is None or hint.cells.bit_count() == 1)


def _merge(combination: Iterable[Hint], everywhere: int) -> Hint:
    cells, preferred = everywhere, True
    for hint in combination:
        preferred = preferred and hint.preferred
        if hint.cells is not None:
            cells &= hint.cells
    return Hint(cells, preferred)


def _is_better(hint: Hint, best: Hint) -> bool:
    if hint.preferred != best.preferred:
        return hint.preferred
    assert hint.cells is not None and best.cells is not None  # noqa: PT018 - merged hints are never None
    return (hint.cells.bit_count(), hint.cells) < (best.cells.bit_count(), best.cells)
