"""Events: what happened to an object, told to its user without flooding the API server.

`record` never blocks. Repetitions raise a count, floods of similar events are combined, and noisy objects are limited.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import socket
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from volcano.api.core import Event, EventSource
from volcano.api.meta import ObjectMeta, ObjectReference, whole_seconds
from volcano.api.resources import EVENTS, Resource
from volcano.kube.bucket import Bucket
from volcano.kube.client import Client
from volcano.kube.codec import head_of
from volcano.kube.errors import ApiError, Forbidden, Invalid, NotFound
from volcano.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

NORMAL: Final = "Normal"
WARNING: Final = "Warning"

SIMILAR_LIMIT: Final = 10
SIMILAR_SECONDS: Final = 600.0
BURST: Final = 25.0
REFILL_SECONDS: Final = 300.0
REMEMBERED: Final = 4096
ATTEMPTS: Final = 12
MESSAGE_BYTES: Final = 1024
COMBINED: Final = "(combined from similar events): "


@dataclass(slots=True)
class Similar:
    """The different messages of one kind of event on one object, within a window of time."""

    since: float
    messages: set[str] = field(default_factory=set)


class EventRecorder:
    """Writes events as `component`, in the background while `run` runs.

    Events of at most `BURST` per object and component are written at once, and one per `REFILL_SECONDS` beyond that.
    """

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
        host: str | None = None,
        workers: int = 4,
    ) -> None:
        self.dropped = 0
        self._client = client
        self._source = EventSource(component=component, host=host or "")
        self._instance = f"{component}-{host or socket.gethostname()}"
        self._component = component
        self._now = now
        self._workers = workers
        self._queue: WorkQueue[tuple[str, ...]] = WorkQueue(base_seconds=0.5, max_seconds=10.0)
        self._events: OrderedDict[tuple[str, ...], Event] = OrderedDict()
        self._similar: OrderedDict[tuple[str, ...], Similar] = OrderedDict()
        self._buckets: OrderedDict[tuple[str, ...], Bucket] = OrderedDict()

    def record(self, resource: Resource[Any], obj: object, type_: str, reason: str, message: str) -> None:
        """Note that something happened to `obj`. Never blocks; what the limits do not allow is counted and dropped."""
        head = head_of(obj)
        self.record_on(
            ObjectReference(
                kind=resource.kind,
                api_version=resource.api_version,
                namespace=head.namespace,
                name=head.name,
                uid=head.uid,
                resource_version=head.resource_version,
            ),
            type_,
            reason,
            message,
        )

    def record_on(self, about: ObjectReference, type_: str, reason: str, message: str) -> None:
        """Note that something happened to the object of a reference."""
        now = self._now()
        kind = (about.api_version, about.kind, about.namespace, about.name, about.uid, type_, reason)
        text = message if len(message) <= MESSAGE_BYTES else message[: MESSAGE_BYTES - 3] + "..."
        key, text = self._combine(kind, text, now.timestamp())
        if not self._allowed(kind[:5], now.timestamp()):
            self.dropped += 1
            return
        event = self._events.get(key)
        if event is None:
            self._events[key] = self._new(about, type_, reason, text, now)
            bounded(self._events)
        else:
            event.count += 1
            event.last_timestamp = whole_seconds(now)
            event.message = text
            self._events.move_to_end(key)
        self._queue.add(key)

    async def run(self) -> None:
        """Write what is recorded until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._queue.work(self._write))

    async def flush(self, seconds: float = 2.0) -> None:
        """Wait until everything recorded so far is written, at most `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._queue.idle()
        except TimeoutError:
            log.warning("%d events were not written", len(self._queue))

    def _combine(self, kind: tuple[str, ...], text: str, now: float) -> tuple[tuple[str, ...], str]:
        """The event that `text` counts into: its own, or the combined one when there are too many similar ones."""
        similar = self._similar.get(kind)
        if similar is None or now - similar.since > SIMILAR_SECONDS:
            similar = self._similar[kind] = Similar(now)
            bounded(self._similar)
        self._similar.move_to_end(kind)
        if len(similar.messages) < SIMILAR_LIMIT or text in similar.messages:
            similar.messages.add(text)
            return (*kind, text), text
        return (*kind, COMBINED), COMBINED + text

    def _allowed(self, about: tuple[str, ...], now: float) -> bool:
        bucket = self._buckets.get(about)
        if bucket is None:
            bucket = self._buckets[about] = Bucket(now, BURST, REFILL_SECONDS)
            bounded(self._buckets)
        self._buckets.move_to_end(about)
        return bucket.take(now)

    def _new(self, about: ObjectReference, type_: str, reason: str, message: str, now: datetime.datetime) -> Event:
        seconds = whole_seconds(now)
        return Event(
            metadata=ObjectMeta(
                name=f"{about.name}.{int(now.timestamp() * 1e9):x}", namespace=about.namespace or "default"
            ),
            involved_object=about,
            type=type_,
            reason=reason,
            message=message,
            source=self._source,
            reporting_component=self._component,
            reporting_instance=self._instance,
            first_timestamp=seconds,
            last_timestamp=seconds,
            count=1,
        )

    async def _write(self, key: tuple[str, ...]) -> None:
        event = self._events.get(key)
        if event is None:
            return
        try:
            await self._store(event)
        except (Forbidden, Invalid, NotFound) as error:
            log.debug("the event %s is not accepted: %s", event.metadata.name, error)
            self._events.pop(key, None)
            self._queue.forget(key)
        except (ApiError, OSError) as error:
            if self._queue.failures(key) >= ATTEMPTS:
                log.warning("giving up on the event %s: %s", event.metadata.name, error)
                self.dropped += 1
                self._events.pop(key, None)
                self._queue.forget(key)
            else:
                self._queue.add_rate_limited(key)
        else:
            self._queue.forget(key)

    async def _store(self, event: Event) -> None:
        """Create the event, or raise the count of the one that exists."""
        metadata = event.metadata
        if metadata.resource_version:
            changes = {"count": event.count, "lastTimestamp": event.last_timestamp, "message": event.message}
            try:
                await self._client.patch(EVENTS, metadata.name, changes, metadata.namespace)
            except NotFound:
                metadata.resource_version = ""
            else:
                return
        created = await self._client.create(EVENTS, event)
        metadata.resource_version = created.metadata.resource_version or "0"


def bounded(remembered: OrderedDict[tuple[str, ...], Any]) -> None:
    """Forget the oldest beyond what is worth remembering."""
    while len(remembered) > REMEMBERED:
        remembered.popitem(last=False)
