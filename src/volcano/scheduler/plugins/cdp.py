"""cdp: who has just been placed is not evicted again for a while (its cooldown)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from volcano.api import duration, keys
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.plugin import Plugin

if TYPE_CHECKING:
    from volcano.api.core import Pod


class CooldownProtection(Plugin):
    name = "cdp"

    def preemptable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        return [task for task in candidates if not self._is_protected(task)]

    reclaimable = preemptable

    def _is_protected(self, task: Task) -> bool:
        cooldown = cooldown_seconds(task.pod)
        if cooldown is None or task.pod.status.phase != "Running":
            return False
        scheduled = next(
            (c for c in task.pod.status.conditions if c.type == "PodScheduled" and c.status == "True"), None
        )
        if scheduled is None or scheduled.last_transition_time is None:
            return False
        return scheduled.last_transition_time.timestamp() + cooldown > self.session.now


def cooldown_seconds(pod: Pod) -> float | None:
    """The pod's label or, failing that, annotation; None if neither is a duration."""
    meta = pod.metadata
    text = meta.labels.get(keys.COOLDOWN_TIME) or meta.annotations.get(keys.COOLDOWN_TIME, "")
    try:
        return duration.parse_seconds(text)
    except duration.DurationError:
        return None
