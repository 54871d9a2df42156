"""conformance: pods that the cluster itself needs are never evicted."""

from __future__ import annotations

from collections.abc import Sequence

from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.plugin import EvictionContext, Plugin


class Conformance(Plugin):
    name = "conformance"
    protects = True

    def preemptable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        return _dispensable(candidates)

    def reclaimable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        return _dispensable(candidates)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Sequence[Task]:
        return _dispensable(candidates)


def _dispensable(tasks: Sequence[Task]) -> list[Task]:
    return [task for task in tasks if not task.is_critical]
