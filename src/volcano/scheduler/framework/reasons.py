"""Why something was refused, as data. Conditions, events, metrics and `explain` are renderings of these records.

Texts of refusals that Kubernetes or Volcano users may match are upstream's, exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]

FITS: Final = 0
"""The code of a node that takes the pod."""
OF_QUEUES: Final = frozenset({"QueueOverused", "QueueQuotaExceeded"})
"""Reasons by which the limit of a queue is in the way."""


class Stage(StrEnum):
    ENQUEUE = "enqueue"
    QUEUE = "queue"
    GANG = "gang"
    PREDICATE = "predicate"
    TOPOLOGY = "topology"
    DEVICE = "device"
    VOLUME = "volume"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True)
class Reason:
    """One refusal. `need` and `have` are the numbers that do not match, `blocker` the object in the way."""

    stage: Stage
    code: str
    need: int | float | None = None
    have: int | float | None = None
    blocker: str = ""
    message: str = field(default="", compare=False)
    nodes: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    """How many nodes refuse with which text."""
    cause: Reason | None = field(default=None, compare=False)
    """What stopped the first member, where the reason is about the whole."""
    resource: str = field(default="", compare=False)
    """Of what `need` and `have` are amounts, where they are not counts."""
    amounts: tuple[str, str] = field(default=("", ""), compare=False)
    """`need` and `have` as people write them, where they are amounts of a resource."""

    def __str__(self) -> str:
        return self.message or self.code


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one node does not take a pod. Unresolvable: evicting others from it would not help."""

    plugin: str
    text: str
    resolvable: bool = True
    stage: Stage = Stage.PREDICATE


class Refusals:
    """Interns refusals, so that filters answer with arrays of small integers."""

    def __init__(self) -> None:
        self._all: list[Refusal | None] = [None]
        self._codes: dict[Refusal, int] = {}
        self._unresolvable: NDArray[np.bool_] = np.zeros(1, dtype=np.bool_)

    def code(self, refusal: Refusal) -> int:
        code = self._codes.get(refusal)
        if code is None:
            code = self._codes[refusal] = len(self._all)
            self._all.append(refusal)
            self._unresolvable = np.append(self._unresolvable, not refusal.resolvable)
        return code

    def __getitem__(self, code: int) -> Refusal:
        refusal = self._all[code]
        if refusal is None:
            raise KeyError(f"code {code} means that the node fits: it has no refusal")
        return refusal

    def unresolvable(self, codes: Codes) -> NDArray[np.bool_]:
        return self._unresolvable[codes]

    def histogram(self, codes: Codes) -> dict[Refusal, int]:
        counts = np.bincount(codes, minlength=1)
        return {self[int(code)]: int(counts[code]) for code in np.flatnonzero(counts) if code != FITS}


@dataclass(frozen=True, slots=True)
class FitError:
    """Why no node takes a task: how many nodes refuse for which reason, or one text for all of them."""

    refusals: tuple[tuple[Refusal, int], ...] = ()
    unresolvable: frozenset[int] = frozenset()
    """Rows where evicting would not help."""
    hypernode: str = ""
    text: str = ""
    """Set when the task was refused before any node was looked at."""
    reason: Reason | None = None
    """The record of that refusal."""

    def __str__(self) -> str:
        if self.text:
            return self.text
        total = sum(count for _, count in self.refusals)
        where = f"In hyperNode {self.hypernode}: " if self.hypernode else ""
        if total == 0:
            return f"{where}0/0 nodes are unavailable"
        reasons = sorted_histogram({refusal.text: count for refusal, count in self.refusals})
        return f"{where}0/{total} nodes are unavailable: {reasons}."

    def as_reason(self, blocker: str) -> Reason:
        """The same as a record; `blocker` names the task that it is about."""
        if self.reason is not None:
            return self.reason
        return Reason(Stage.PREDICATE, "NoNodeFits", blocker=blocker, message=str(self), nodes=self.nodes)

    @property
    def says_nothing(self) -> bool:
        """Whether it only refers to another task's error."""
        return bool(self.text) and self.reason is None

    @property
    def nodes(self) -> tuple[tuple[str, int], ...]:
        return tuple((refusal.text, count) for refusal, count in self.refusals)


def sorted_histogram(counts: dict[str, int]) -> str:
    """`2 a, 10 b` in the order of the strings themselves, as Kubernetes prints it."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))


def count_texts(texts: Iterable[str]) -> dict[str, int]:
    return dict(Counter(texts))
