"""Tells users that pods were bound: every pod while they are few, the PodGroup how many in a rush.

Used by binding.py. Ten thousand pods bound in half a minute must not cost ten thousand events.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from volcano.api.meta import ObjectReference
from volcano.api.resources import PODGROUPS
from volcano.kube.bucket import Bucket
from volcano.kube.events import NORMAL, EventRecorder

if TYPE_CHECKING:
    from volcano.scheduler.daemon.ingest import Feed
    from volcano.scheduler.framework.decisions import Bind

REASON: Final = "Scheduled"
BURST: Final = 50
REFILL_SECONDS: Final = 1.0
SUM_UP_SECONDS: Final = 2.0


class Announcer:
    """One event for each of the first `BURST` pods and for one more per `REFILL_SECONDS`; the others are counted.

    Sums are told in the same measure, the largest first; the one pod of a group is none.
    """

    def __init__(self, recorder: EventRecorder, feed: Feed) -> None:
        self._recorder = recorder
        self._feed = feed
        self._pods = Bucket(time.monotonic(), BURST, REFILL_SECONDS)
        self._sums = Bucket(time.monotonic(), BURST, REFILL_SECONDS)
        self._others: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def bound(self, bind: Bind) -> None:
        if self._pods.take(time.monotonic()):
            about = ObjectReference(
                kind="Pod", api_version="v1", namespace=bind.namespace, name=bind.name, uid=bind.uid
            )
            message = f"Successfully assigned {bind.key} to {bind.node}"
            self._recorder.record_on(about, NORMAL, REASON, message)
            return
        self._others[bind.job] += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SUM_UP_SECONDS, self.sum_up)

    def sum_up(self) -> None:
        """Tell the PodGroups now what has been counted."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        groups = self._feed.store(PODGROUPS.plural)
        for job, count in self._others.most_common():
            group = groups.get(job)
            if group is None or count == group.spec.min_member == 1:
                continue
            if self._sums.take(time.monotonic()):
                message = f"Successfully assigned {count} pods of the group"
                self._recorder.record(PODGROUPS, group, NORMAL, REASON, message)
        self._others.clear()
