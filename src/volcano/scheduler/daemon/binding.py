"""Binds, evictions and gates to open: sent at once, many at a time; what the API server refuses is undone.

Their results come back through the inbox; nothing here waits for a cycle and no cycle waits for this.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from volcano.api import keys
from volcano.api.meta import ObjectReference
from volcano.api.resources import PODS
from volcano.kube.client import Client, PatchKind
from volcano.kube.errors import ApiError, Conflict, NotFound
from volcano.kube.events import WARNING, EventRecorder
from volcano.scheduler.daemon.announcements import Announcer
from volcano.scheduler.daemon.claims import settle
from volcano.scheduler.daemon.ingest import Feed
from volcano.scheduler.daemon.metrics import Metrics
from volcano.scheduler.framework.decisions import Admission, Bind, Eviction

log = logging.getLogger(__name__)

WORKERS: Final = 48
ATTEMPTS: Final = 4
FIRST_BACKOFF_SECONDS: Final = 0.2
LONGEST_BACKOFF_SECONDS: Final = 60.0
CLAIM_TIMEOUT_SECONDS: Final = 600.0

Decision = Bind | Eviction | Admission

OnBindFailed = Callable[[Bind, str], None]


class Outbox:
    """`workers` requests are under way at most; the order of decisions is kept."""

    def __init__(
        self,
        client: Client,
        feed: Feed,
        recorder: EventRecorder,
        metrics: Metrics,
        *,
        on_bind_failed: OnBindFailed,
        component: str = "volcano",
        workers: int = WORKERS,
    ) -> None:
        self._client = client
        self._feed = feed
        self._recorder = recorder
        self._announcer = Announcer(recorder, feed)
        self._metrics = metrics
        self._on_bind_failed = on_bind_failed
        self._component = component
        self._workers = workers
        self._queue: asyncio.Queue[Decision] = asyncio.Queue()
        self._failures: dict[str, int] = {}

    @property
    def backlog(self) -> int:
        return self._queue.qsize()

    def send(self, decisions: Iterable[Decision]) -> None:
        for decision in decisions:
            self._queue.put_nowait(decision)

    def forget(self, uid: str) -> None:
        """The pod has gone."""
        self._failures.pop(uid, None)

    async def run(self) -> None:
        """Carry out what is sent until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    async def drain(self) -> None:
        """Wait until everything sent so far has been answered, and say what it was."""
        await self._queue.join()
        self._announcer.sum_up()

    async def _work(self) -> None:
        while True:
            decision = await self._queue.get()
            try:
                match decision:
                    case Bind():
                        await self._bind(decision)
                    case Eviction():
                        await self._evict(decision)
                    case Admission():
                        await self._admit(decision)
            except Exception:
                log.exception("%s cannot be carried out", decision)
            finally:
                self._queue.task_done()

    async def _bind(self, bind: Bind) -> None:
        began = time.monotonic()
        try:
            if bind.claims:
                await settle(self._client, bind.claims, CLAIM_TIMEOUT_SECONDS)
            await self._persist(
                lambda: self._client.bind(bind.namespace, bind.name, bind.uid, bind.node, bind.annotations or None)
            )
        except (ApiError, OSError, TimeoutError) as problem:
            self._refused(bind, problem)
            return
        self._failures.pop(bind.uid, None)
        self._metrics.bound((time.monotonic() - began) * 1000, self._feed.store("pods").get(bind.key))
        self._announcer.bound(bind)

    def _refused(self, bind: Bind, problem: Exception) -> None:
        failures = self._failures[bind.uid] = self._failures.get(bind.uid, 0) + 1
        delay = min(FIRST_BACKOFF_SECONDS * 2.0 ** min(failures - 1, 16), LONGEST_BACKOFF_SECONDS)
        log.warning("%s was not bound to %s, again in %.1f s: %s", bind.key, bind.node, delay, problem)
        self._feed.call(lambda ingest: ingest.bind_refused(bind.uid, time.time() + delay))
        if not isinstance(problem, NotFound):
            self._on_bind_failed(bind, f"failed to bind to node {bind.node}: {problem}")

    async def _evict(self, eviction: Eviction) -> None:
        """Say why in the pod's status, then delete it: this very pod, not a later one of the same name."""
        message = f"Pod is evicted, because of {eviction.cause}"
        about = ObjectReference(
            kind="Pod", api_version="v1", namespace=eviction.namespace, name=eviction.name, uid=eviction.uid
        )
        self._recorder.record_on(about, WARNING, "Evict", message)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        ready = {"type": "Ready", "status": "False", "reason": "Evict", "message": message}
        target = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{self._component}: preempting to accommodate a higher priority pod",
        }
        conditions = [{**condition, "lastTransitionTime": now} for condition in (ready, target)]
        patch = {"metadata": {"uid": eviction.uid}, "status": {"conditions": conditions}}
        try:
            await self._persist(
                lambda: self._client.patch(
                    PODS, eviction.name, patch, eviction.namespace, kind=PatchKind.STRATEGIC, subresource="status"
                )
            )
            await self._persist(lambda: self._client.delete(PODS, eviction.name, eviction.namespace, uid=eviction.uid))
        except NotFound:
            return  # as was wanted
        except (ApiError, OSError, TimeoutError) as problem:
            if isinstance(problem, Conflict) and await self._has_gone(eviction):
                return  # another pod bears its name
            log.warning("%s was not evicted: %s", eviction.key, problem)
            self._feed.call(lambda ingest: ingest.eviction_refused(eviction.uid))

    async def _has_gone(self, eviction: Eviction) -> bool:
        """Conflicts are also what a server answers that has too many writers of one pod."""
        try:
            pod = await self._client.get(PODS, eviction.name, eviction.namespace)
        except NotFound:
            return True
        except (ApiError, OSError, TimeoutError):
            return False
        return pod.metadata.uid != eviction.uid

    async def _admit(self, admission: Admission) -> None:
        """Open the gate; the next cycle decides anew if this fails."""
        gate = {"name": keys.QUEUE_ALLOCATION_GATE, "$patch": "delete"}
        patch = {"metadata": {"uid": admission.uid}, "spec": {"schedulingGates": [gate]}}
        try:
            await self._client.patch(PODS, admission.name, patch, admission.namespace, kind=PatchKind.STRATEGIC)
        except (ApiError, OSError, TimeoutError) as problem:
            log.warning("%s keeps its queue-allocation gate: %s", admission.key, problem)

    async def _persist(self, request: Callable[[], Awaitable[object]]) -> None:
        """Send a request again while the server is busy or away, for a little while."""
        for attempt in range(ATTEMPTS):
            try:
                await request()
            except (OSError, TimeoutError):
                if attempt == ATTEMPTS - 1:
                    raise
                await asyncio.sleep(0.05 * 4**attempt)
            except ApiError as problem:
                if attempt == ATTEMPTS - 1 or not (problem.status == 429 or problem.status >= 500):
                    raise
                await asyncio.sleep(problem.retry_after or 0.05 * 4**attempt)
            else:
                return
