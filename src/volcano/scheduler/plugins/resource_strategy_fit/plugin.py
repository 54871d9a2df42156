"""resource-strategy-fit: scores per resource, filled or spread; nodes with scarce resources are avoided or kept roomy.

strategy.py reads which resource is treated how.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from volcano.scheduler.cluster.nodes import Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import CPU, MEMORY
from volcano.scheduler.framework.plugin import Plugin, Scores, ScoreTerm
from volcano.scheduler.framework.reasons import FITS, Codes, Refusal
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.resource_strategy_fit.strategy import (
    DEFAULT_WEIGHT,
    LEAST,
    MOST,
    Arguments,
    Strategy,
    listed,
    pod_strategies,
    strategies,
    strategy_for,
)

SCORE_MAX: Final = 100
BYTES_PER_UNIT: Final = 10**6
"""Memory proportions are in GB per whole device, amounts of devices in thousandths."""


class ResourceStrategyFit(Plugin):
    name = "resource-strategy-fit"
    Arguments = Arguments
    judges_by_queue = False

    def open(self, session: Session) -> None:
        arguments: Arguments = self.arguments
        self._weight = arguments.weight if arguments.weight >= 0 else DEFAULT_WEIGHT
        self._configured, unusable = strategies(arguments.resources)
        for name in unusable:
            session.warn(
                f"resource-strategy-fit: resource {name!r}: only one '*', at the end of a prefix, is understood"
            )
        self._by_profile: dict[int, dict[int, Strategy]] = {}
        self._scarce = self._scarce_weights()
        self._proportions = self._read_proportions()

    def score_terms(self, profile: Profile) -> Sequence[ScoreTerm]:
        terms = []
        if self._weight:
            terms.append(ScoreTerm(self._fit, weight=self._weight * SCORE_MAX, own_rows=True))
        if self._scarce and self.arguments.sra.weight > 0:
            terms.append(ScoreTerm(self._abundance, weight=self.arguments.sra.weight * SCORE_MAX, own_rows=True))
        return terms

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        """Pods that do not use the listed devices leave room beside those that are idle."""
        codes = np.full(len(rows), FITS, dtype=np.int32)
        if not self._proportions or any(profile.request[dimension] > 0 for dimension in self._proportions):
            return codes
        names = self.session.cluster.dimensions.names
        for dimension, (cores, gigabytes) in self._proportions.items():
            idle = rows.idle(dimension)
            cpu_left = rows.idle(CPU) - int(profile.request[CPU])
            memory_left = rows.idle(MEMORY) - int(profile.request[MEMORY])
            short = (cpu_left < idle * cores) | (memory_left < idle * (gigabytes * BYTES_PER_UNIT))
            text = f"proportional of resource {names[dimension]} check failed"
            refused = (codes == FITS) & (idle > 0) & short
            if refused.any():
                codes[refused] = self.session.refusals.code(Refusal(self.name, text, resolvable=False))
        return codes

    # Scores

    def _fit(self, profile: Profile, rows: Rows) -> Scores:
        """0 to 1: the weighted mean over the resources that count; 0 where the pod does not fit."""
        total = np.zeros(len(rows), dtype=np.float64)
        fits = np.ones(len(rows), dtype=np.bool_)
        divisor = 0
        for dimension, strategy in self._strategies(profile).items():
            divisor += strategy.weight
            capacity = rows.allocatable(dimension)
            wanted = rows.used(dimension) + int(profile.request[dimension])
            offered = capacity > 0
            if strategy.kind not in (LEAST, MOST) or strategy.weight == 0:
                continue
            fits &= ~offered | (wanted <= capacity)
            part = wanted if strategy.kind == MOST else capacity - wanted
            total += np.where(offered, part * strategy.weight / np.where(offered, capacity, 1), 0.0)
        return np.where(fits, total / divisor, 0.0) if divisor > 0 else np.zeros(len(rows))

    def _abundance(self, profile: Profile, rows: Rows) -> Scores:
        """1 on nodes without any scarce resource, 0 on those that have all of them or lack something the pod needs."""
        has_all = np.ones(len(rows), dtype=np.bool_)
        for dimension in profile.wanted:
            has_all &= rows.allocatable(dimension) > 0
        present = np.zeros(len(rows), dtype=np.float64)
        for dimension, weight in self._scarce.items():
            if dimension >= 0:
                present += np.where(rows.allocatable(dimension) > 0, weight, 0)
        whole = sum(self._scarce.values())
        return np.where(has_all, 1 - present / whole, 0.0) if whole else np.zeros(len(rows))

    # Configuration

    def _strategies(self, profile: Profile) -> dict[int, Strategy]:
        found = self._by_profile.get(profile.id)
        if found is None:
            names = self.session.cluster.dimensions.names
            own = pod_strategies(profile.pod, [names[dimension] for dimension in profile.wanted])
            found = {}
            for dimension in profile.wanted:
                name = names[dimension]
                strategy = strategy_for(name, self._configured) if own is None else own.get(name)
                if strategy is not None:
                    found[dimension] = strategy
            self._by_profile[profile.id] = found
        return found

    def _scarce_weights(self) -> dict[int, int]:
        """By dimension; resources that no node has get negative numbers: they only count in the sum."""
        option = self.arguments.sra
        if not option.enable:
            return {}
        found: dict[int, int] = {}
        for name in listed(option.resources):
            weight = option.resource_weight.get(name, 1)
            dimension = self.session.cluster.dimensions.find(name)
            found[-1 - len(found) if dimension is None else dimension] = weight if weight >= 0 else 1
        return found

    def _read_proportions(self) -> dict[int, tuple[float, float]]:
        """Per listed resource the cores and the GB that belong to one whole device."""
        option = self.arguments.proportional
        found: dict[int, tuple[float, float]] = {}
        for name in listed(option.resources) if option.enable else ():
            dimension = self.session.cluster.dimensions.find(name)
            if dimension is not None:
                cores, gigabytes = (option.resource_proportion.get(f"{name}.{kind}", 1.0) for kind in ("cpu", "memory"))
                found[dimension] = (cores if cores >= 0 else 1.0, gigabytes if gigabytes >= 0 else 1.0)
        return found
