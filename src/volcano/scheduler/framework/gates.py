"""Plugins that keep jobs out while the cluster is full, and those for whom preempt would make room, were they let in.

Added to the records of those who ask why a job waits (outcome.py); lint.py says it of the configuration beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.tasks import PREEMPTABLE_STATUSES
from volcano.scheduler.framework.conf import PluginOption
from volcano.scheduler.framework.reasons import Reason, Stage

if TYPE_CHECKING:
    from volcano.scheduler.framework.session import Session

PREEMPTING: Final = frozenset({"preempt", "gangpreempt"})
RECLAIMING: Final = frozenset({"reclaim", "gangreclaim"})
_GATES: Final = ("overcommit", "proportion", "capacity")
_ABOUT_SUMS: Final = frozenset({"ClusterFull", "ClusterOverused", "QueueQuotaExceeded"})


def gates(options: Iterable[PluginOption]) -> list[str]:
    """Plugins of the configuration by which enqueue refuses a job that would need others to go."""
    return [option.name for option in options if option.name in _GATES and "enableJobEnqueued" in option.switches]


def with_gate(session: Session, job: Job, reason: Reason) -> Reason:
    """`reason`; where a sum keeps out a job to which less important ones of its queue would give way, with that."""
    is_kept_out = reason.stage is Stage.ENQUEUE and reason.code in _ABOUT_SUMS and reason.cause is None
    if not is_kept_out or job.queue is None or not PREEMPTING & set(session.conf.actions):
        return reason
    lesser = next((other for other in job.queue.jobs.values() if other.priority < job.priority and _runs(other)), None)
    if lesser is None:
        return reason
    text = f"{lesser.key} is less important, but jobs are preempted only for those that have been admitted"
    names = " and ".join(gates(session.conf.plugins))
    return replace(reason, cause=Reason(Stage.ENQUEUE, "NotAdmittedToPreempt", blocker=names, message=text))


def _runs(job: Job) -> bool:
    return any(task.status in PREEMPTABLE_STATUSES and task.preemptable for task in job.tasks.values())
