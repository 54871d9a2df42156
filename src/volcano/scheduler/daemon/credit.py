"""Admission on credit: who expects more podgroups of a queue at once than can be let in one by one, and tells so.

Of each podgroup of a job the controllers would have to hear that its pods may be made; in a rush of small jobs that
word costs the API server as much as making the pod. There the next ones are let in before they are there
(api/credit.py), as far as the enqueue action finds room for them.
"""

from __future__ import annotations

import datetime
import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from volcano.api import credit, quantity
from volcano.api.credit import Credit
from volcano.api.keys import ADMISSION_CREDIT
from volcano.api.meta import JsonObject, ObjectMeta, controller_of
from volcano.api.quantity import QuantityError
from volcano.api.resources import JOBS, QUEUES
from volcano.kube.bucket import Rush
from volcano.kube.errors import ApiError, NotFound
from volcano.kube.fence import NotLeading
from volcano.kube.workqueue import WorkQueue
from volcano.scheduler.cluster.credit import CreditRequest
from volcano.scheduler.cluster.jobs import INQUEUE

if TYPE_CHECKING:
    from volcano.api.scheduling import PodGroup
    from volcano.kube.client import Client
    from volcano.scheduler.daemon.ingest import Feed

log = logging.getLogger(__name__)

GROUPS: Final = 256
"""So many podgroups are let in at once, before they are there."""
BURST: Final = 50
REFILL_SECONDS: Final = 0.1
"""More than `BURST` podgroups of a queue are a rush, and so is more than one per `REFILL_SECONDS` in the long run."""
DEBT: Final = 40.0
VALID_SECONDS: Final = 20.0
"""So long others may find the room taken that they take meanwhile."""
RENEWED_SECONDS: Final = 5.0
"""Before a credit ends, while the rush goes on."""
PAUSE_SECONDS: Final = 10.0
"""Where a queue has no room for more, or may not be written, it is asked for again only then."""
LOOK_SECONDS: Final = 5.0
"""So often it is asked whether a rush is over."""

UNREAD_QUEUES: Final = QUEUES.as_type(msgspec.Raw)
"""Nobody looks at the answers."""


class QueueRush:
    """What is known of one queue in a rush."""

    def __init__(self, now: float) -> None:
        self.rush = Rush(now, BURST, REFILL_SECONDS, DEBT)
        self.each: Mapping[str, str] = {}
        self.asked: Mapping[str, str] = {}
        """`each` as the present cycle has been asked for it: larger podgroups may come while it runs."""
        self.left = 0
        """Podgroups that may still come, as far as we have heard."""
        self.expires = now
        self.not_before = now
        self.granted: Credit | None = None

    def arrived(self, podgroup: PodGroup, now: float) -> None:
        self.rush.begins_or_lasts(now)
        if podgroup.status.phase == INQUEUE:
            self.left -= 1
        declared = podgroup.spec.min_resources or {}
        if declared != self.each:
            self.each = _larger(self.each, declared)

    def requests(self, now: float) -> bool:
        given = self.granted.groups if self.granted is not None else 0
        few_left = self.left <= given // 2 or now >= self.expires - RENEWED_SECONDS
        return now >= self.not_before and few_left and self.rush.lasts(now)

    def may_be_forgotten(self, now: float) -> bool:
        """Nothing of it is known that a new one would not know."""
        return self.granted is None and self.rush.spare(now) >= BURST

    def take_back(self) -> None:
        self.granted, self.left = None, 0


class CreditWriter:
    """Of all queues. `requests` before a cycle, `grant` what it has found room for; `run` tells the controllers."""

    def __init__(
        self,
        client: Client,
        feed: Feed,
        scheduler_names: Sequence[str],
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
    ) -> None:
        self._client = client
        self._feed = feed
        self._scheduler_names = tuple(scheduler_names)
        self._clock = clock
        self._now = now
        self._rushes: dict[str, QueueRush] = {}
        self._queue: WorkQueue[str] = WorkQueue(base_seconds=0.1, max_seconds=30.0)
        self._has_swept = False

    def arrived(self, podgroup: PodGroup) -> None:
        """The watch shows a podgroup for the first time."""
        owner = controller_of(podgroup.metadata)
        if owner is None or owner.kind != JOBS.kind or owner.api_version != JOBS.api_version:
            return
        now, queue = self._clock(), podgroup.spec.queue
        known = self._rushes.get(queue)
        if known is None:
            known = self._rushes[queue] = QueueRush(now)
            self._queue.add_after(queue, LOOK_SECONDS)
        with suppress(QuantityError):  # it is not counted by those who admit, either
            known.arrived(podgroup, now)

    def requests(self) -> Mapping[str, CreditRequest]:
        now = self._clock()
        rushing = sum(known.rush.lasts(now) for known in self._rushes.values())
        asking = {name: known for name, known in self._rushes.items() if known.requests(now)}
        for known in asking.values():
            known.asked = known.each
        return {name: CreditRequest(GROUPS, known.asked, rushing) for name, known in asking.items()}

    def grant(self, credits_: Mapping[str, int]) -> None:
        """A cycle has found room for so many podgroups."""
        self._sweep()
        now = self._clock()
        for queue, groups in credits_.items():
            known = self._rushes.get(queue)
            if known is None:
                continue
            if not groups:
                known.take_back()
                known.each, known.not_before = {}, now + PAUSE_SECONDS  # until then the largest may be another
                self._queue.add(queue)
                continue
            known.left, known.expires = groups, now + VALID_SECONDS
            known.granted = Credit(
                id=uuid.uuid4().hex,
                scheduler_names=self._scheduler_names,
                groups=groups,
                each=known.asked,
                until=self._now() + datetime.timedelta(seconds=VALID_SECONDS),
            )
            self._queue.add(queue)

    def take_over(self) -> None:
        """This scheduler leads, perhaps not for the first time: whoever led meanwhile has given other credits."""
        self._has_swept = False
        for known in self._rushes.values():
            known.take_back()

    async def run(self) -> None:
        """Write until cancelled."""
        await self._queue.work(self._reconcile)

    def _sweep(self) -> None:
        """Whoever led before may have left credits behind, which have ended or soon will."""
        if self._has_swept:
            return
        self._has_swept = True
        for name in self._feed.store(QUEUES.plural):
            self._queue.add(name)

    async def _reconcile(self, name: str) -> None:
        """Tell what is to be told about a queue; when its rush is over, take back what was told."""
        queue, known = self._feed.store(QUEUES.plural).get(name), self._rushes.get(name)
        if queue is None:
            self._rushes.pop(name, None)
            return
        now = self._clock()
        if known is not None and known.may_be_forgotten(now):
            del self._rushes[name]
        elif known is not None:
            self._queue.add_after(name, LOOK_SECONDS)
            if not known.rush.lasts(now):
                known.take_back()
        wanted = known.granted.written() if known is not None and known.granted is not None else None
        told = queue.metadata.annotations.get(ADMISSION_CREDIT)
        if wanted == told or (wanted is None and not self._is_ours(queue.metadata)):
            return
        body: JsonObject = {"metadata": {"uid": queue.metadata.uid, "annotations": {ADMISSION_CREDIT: wanted}}}
        try:
            await self._client.patch(UNREAD_QUEUES, name, body)
        except NotFound:
            return
        except (ApiError, OSError, TimeoutError) as problem:
            self._refused(name, problem)

    def _is_ours(self, meta: ObjectMeta) -> bool:
        """Whether we, or who led before, perhaps under fewer or more names, have given what the queue has."""
        told = credit.of(meta)
        return told is not None and not set(self._scheduler_names).isdisjoint(told.scheduler_names)

    def _refused(self, name: str, problem: Exception) -> None:
        known = self._rushes.get(name)
        if known is not None:
            known.take_back()
            known.not_before = self._clock() + PAUSE_SECONDS
        if isinstance(problem, NotLeading):
            return  # whoever leads now sweeps
        log.warning("queue %s: it cannot be told which podgroups are let in in advance: %s", name, problem)
        self._queue.add_after(name, LOOK_SECONDS)


def _larger(one: Mapping[str, str], other: Mapping[str, object]) -> Mapping[str, str]:
    """Of each resource the larger amount, as it was written. Raises where an amount cannot be read."""
    found = dict(one)
    for name, amount in other.items():
        text = str(amount)
        wanted = quantity.parse(text)
        if name not in found or wanted > quantity.parse(found[name]):
            found[name] = text
    return found
