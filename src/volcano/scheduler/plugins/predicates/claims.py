"""The filter about resource claims: their devices must be at hand on the node. Pods without claims pass it by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from volcano.scheduler.cluster.nodes import Column, Index, Mask, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.decisions import DeviceAllocation
from volcano.scheduler.framework.plugin import ScoreTerm
from volcano.scheduler.framework.reasons import Reason, Refusal, Stage
from volcano.scheduler.plugins.kubernetes.claims.booking import DeviceBooking
from volcano.scheduler.plugins.kubernetes.claims.selectors import SelectorError
from volcano.scheduler.plugins.predicates.verdict import PLUGIN, Verdict

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster

NOT_AVAILABLE: Final = Refusal(PLUGIN, "resourceclaim not available on the node", resolvable=False, stage=Stage.DEVICE)
CANNOT_ALLOCATE: Final = Refusal(PLUGIN, "cannot allocate all claims", resolvable=False, stage=Stage.DEVICE)


class ClaimRules:
    def __init__(self, cluster: Cluster) -> None:
        self._booking = DeviceBooking(cluster)

    def objection(self, task: Task) -> Reason | None:
        problem = self._booking.problem(task)
        if not problem:
            return None
        text = f"plugin DynamicResources pre-predicates failed {problem}"
        return Reason(Stage.DEVICE, "ResourceClaim", blocker=task.key, message=text)

    def judge(self, profile: Profile, rows: Rows, verdict: Verdict) -> None:
        if not self._booking.concerns(profile.pod):
            return
        verdict.refuse(~self._booking.reachable(profile)[rows.index], NOT_AVAILABLE)
        refusals: dict[Refusal, list[int]] = {}
        for position, row in enumerate(rows.index.tolist()):
            if verdict.is_open(position):
                refusal = self._refusal(profile, row)
                if refusal is not None:
                    refusals.setdefault(refusal, []).append(position)
        for refusal, positions in refusals.items():
            where = np.zeros(len(rows), dtype=np.bool_)
            where[positions] = True
            verdict.refuse(where, refusal)

    def score_terms(self, profile: Profile) -> Sequence[ScoreTerm]:
        """Nodes that have what the claims would like best come first."""
        if not self._booking.has_preferences(profile):
            return ()
        return (ScoreTerm(self._preferences, _in_proportion),)

    def _preferences(self, profile: Profile, rows: Rows) -> Column:
        return np.array([self._booking.preference(profile, row) for row in rows.index.tolist()], dtype=np.int64)

    def couples(self, profile: Profile) -> bool:
        return self._booking.couples(profile)

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        return self._booking.affected(profile, changed)

    def promise(self, tasks: Sequence[Task]) -> Reason | None:
        """What was promised to the others of them is taken back by `release`."""
        if not self._booking.concerns(tasks[0].pod):
            return None
        for task in tasks:
            problem = self._booking.promise(task)
            if problem:
                return Reason(Stage.DEVICE, "ResourceClaim", blocker=task.key, message=problem)
        return None

    def release(self, tasks: Sequence[Task]) -> None:
        if self._booking.concerns(tasks[0].pod):
            for task in tasks:
                self._booking.release(task)

    def decide(self, task: Task) -> Iterable[DeviceAllocation]:
        return self._booking.decide(task)

    def _refusal(self, profile: Profile, row: int) -> Refusal | None:
        try:
            if self._booking.search(profile, row) is not None:
                return None
        except SelectorError as problem:
            return Refusal(PLUGIN, str(problem), resolvable=False, stage=Stage.DEVICE)
        taints = ", ".join(self._booking.repelled(profile, row))
        if not taints:
            return CANNOT_ALLOCATE
        text = f"cannot allocate all claims: devices have untolerated taint {taints}"
        return Refusal(PLUGIN, text, resolvable=False, stage=Stage.DEVICE)


def _in_proportion(raw: Column, feasible: Mask) -> Column:
    """0 to 100, by the largest of those that compete."""
    largest = int(raw[feasible].max()) if feasible.any() else 0
    return 100 * raw // largest if largest > 0 else raw * 0
