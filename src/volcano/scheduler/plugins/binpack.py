"""binpack: fill nodes one after another: the node that ends up fullest in what the pod asks for is best."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import numpy as np

from volcano.scheduler.cluster.nodes import Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import CPU, MEMORY
from volcano.scheduler.framework.plugin import Plugin, Scores, ScoreTerm
from volcano.scheduler.framework.session import Session

PREFIX = "binpack.resources."
SCORE_MAX = 100


class Arguments(msgspec.Struct, frozen=True):
    prefixes: ClassVar[tuple[str, ...]] = (PREFIX,)

    weight: int = msgspec.field(default=1, name="binpack.weight")
    cpu: int = msgspec.field(default=1, name="binpack.cpu")
    memory: int = msgspec.field(default=1, name="binpack.memory")
    resources: str = msgspec.field(default="", name="binpack.resources")
    rest: dict[str, Any] = msgspec.field(default_factory=dict)


class Binpack(Plugin):
    name = "binpack"
    Arguments = Arguments
    judges_by_queue = False

    def open(self, session: Session) -> None:
        dimensions = session.cluster.dimensions
        self.weights: dict[int, int] = {}
        """Per dimension, how much its fullness counts. Resources that nobody has are left out."""
        for name in filter(None, map(str.strip, self.arguments.resources.split(","))):
            dimension = dimensions.find(name)
            if dimension is not None:
                self.weights[dimension] = _weight(self.arguments.rest.get(PREFIX + name, 1))
        self.weights[CPU] = _weight(self.arguments.cpu)
        self.weights[MEMORY] = _weight(self.arguments.memory)

    def score_terms(self, profile: Profile) -> list[ScoreTerm]:
        weight = self.arguments.weight * SCORE_MAX
        return [ScoreTerm(self._fullness, weight=weight, own_rows=True)] if weight else []

    def _fullness(self, profile: Profile, rows: Rows) -> Scores:
        """0 to 1: the weighted mean share in use after the placement; 0 where the pod does not fit."""
        total = np.zeros(len(rows), dtype=np.float64)
        fits = np.ones(len(rows), dtype=np.bool_)
        divisor = 0
        for dimension in profile.wanted:
            weight = self.weights.get(dimension)
            if weight is None:
                continue
            divisor += weight
            capacity = rows.allocatable(dimension)
            wanted = rows.used(dimension) + int(profile.request[dimension])
            offered = capacity > 0
            if weight:
                fits &= ~offered | (wanted <= capacity)
                total += np.where(offered, wanted * weight / np.where(offered, capacity, 1), 0.0)
        return np.where(fits, total / divisor, 0.0) if divisor else total


def _weight(value: Any) -> int:
    """Whole numbers from 0; anything else counts as 1."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 1
