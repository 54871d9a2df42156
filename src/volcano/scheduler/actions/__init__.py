"""The steps of a cycle, one per file, listed here."""

from __future__ import annotations

from volcano.scheduler.framework.action import Action


def built_in() -> tuple[type[Action], ...]:
    from volcano.scheduler.actions.allocate import Allocate
    from volcano.scheduler.actions.backfill import Backfill
    from volcano.scheduler.actions.enqueue import Enqueue
    from volcano.scheduler.actions.gang_eviction import GangPreempt, GangReclaim
    from volcano.scheduler.actions.preempt import Preempt
    from volcano.scheduler.actions.reclaim import Reclaim
    from volcano.scheduler.actions.shuffle import Shuffle

    return (Enqueue, Allocate, Backfill, Preempt, Reclaim, Shuffle, GangPreempt, GangReclaim)
