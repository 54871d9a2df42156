"""The filters about volumes together: binding, zones, limits. Pods without claims pass them by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from volcano.scheduler.cluster.nodes import Index, Mask, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.decisions import ClaimBinding
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.plugins.kubernetes.volumes import binding, zones
from volcano.scheduler.plugins.kubernetes.volumes.binding import VolumeBinding
from volcano.scheduler.plugins.kubernetes.volumes.limits import VolumeLimits
from volcano.scheduler.plugins.predicates import verdict as refusals
from volcano.scheduler.plugins.predicates.arguments import Arguments
from volcano.scheduler.plugins.predicates.verdict import Verdict

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster

_REFUSALS: Final = {
    binding.NO_VOLUME: refusals.NO_VOLUME,
    binding.WRONG_NODE: refusals.VOLUME_NODE,
    binding.NOTHING_TO_BIND: refusals.NOTHING_TO_BIND,
    binding.NO_SPACE: refusals.NO_SPACE,
}


class VolumeRules:
    def __init__(self, cluster: Cluster, arguments: Arguments) -> None:
        self._cluster = cluster
        self._binding = VolumeBinding(cluster) if arguments.volume_binding else None
        self._limits = VolumeLimits(cluster) if arguments.volume_limits else None
        self._has_zones = arguments.volume_zone
        self._outside: dict[int, Mask | None] = {}

    def objection(self, task: Task) -> Reason | None:
        if not task.profile.storage:
            return None
        zone_problem = zones.problem(self._cluster, task.pod) if self._has_zones else ""
        if zone_problem:
            return _objection("VolumeZone", zone_problem)
        problem = self._binding.problem(task) if self._binding is not None else ""
        return _objection("VolumeBinding", problem) if problem else None

    def judge(self, profile: Profile, rows: Rows, verdict: Verdict) -> None:
        if not profile.storage:
            return
        if self._limits is not None and self._limits.applies(profile):
            verdict.refuse(self._limits.exceeded(profile, rows), refusals.VOLUME_LIMIT)
        if self._has_zones:
            if profile.id not in self._outside:
                self._outside[profile.id] = zones.outside(self._cluster, profile.pod)
            outside = self._outside[profile.id]
            if outside is not None:
                verdict.refuse(outside[rows.index], refusals.VOLUME_ZONE)
        if self._binding is not None and self._binding.applies(profile):
            found = self._binding.verdict(profile, rows)
            for kind, refusal in _REFUSALS.items():
                verdict.refuse(found == kind, refusal)

    def couples(self, profile: Profile) -> bool:
        return self._binding is not None and self._binding.couples(profile)

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        return changed[:0] if self._binding is None else self._binding.affected(profile, changed)

    def promise(self, tasks: Sequence[Task]) -> Reason | None:
        if self._binding is None or not tasks[0].profile.storage:
            return None
        for number, task in enumerate(tasks):
            problem = self._binding.promise(task)
            if problem:
                for earlier in tasks[:number]:
                    self._binding.release(earlier)
                return Reason(Stage.VOLUME, "VolumeBindingFailed", blocker=task.key, message=problem)
        return None

    def release(self, tasks: Sequence[Task]) -> None:
        if self._binding is not None and tasks[0].profile.storage:
            for task in tasks:
                self._binding.release(task)

    def decide(self, task: Task) -> Sequence[ClaimBinding]:
        return self._binding.decide(task) if self._binding is not None and task.profile.storage else ()


def _objection(plugin: str, problem: str) -> Reason:
    return Reason(Stage.VOLUME, "VolumeNotReady", message=f"plugin {plugin} pre-predicates failed {problem}")
