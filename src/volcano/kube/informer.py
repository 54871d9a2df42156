"""A local copy of a collection that follows the server, and tells handlers about every change once.

On top of `client`. The copy survives broken connections: it resumes where it was, or lists again and diffs.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from volcano.api.meta import ObjectMeta
from volcano.api.resources import Resource
from volcano.kube.client import Client
from volcano.kube.codec import WatchEvent, head_of
from volcano.kube.errors import ApiError, BadRequest, Gone, Invalid, NotFound

log = logging.getLogger(__name__)

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
Indexer = Callable[[T], Iterable[str]]

FIRST_DELAY_SECONDS = 0.2
LONGEST_DELAY_SECONDS = 30.0
UNREACHED_DELAY_SECONDS = 5.0
"""Between attempts at a server that cannot be reached: these cost it nothing, and it may be back at any moment."""
EXPIRED_DELAY_SECONDS = 2.0
"""Before a list that a restarted server makes necessary, to all of its clients at once."""
WATCH_SECONDS = (300, 600)
INITIAL_SILENCE_SECONDS = 10.0
SHORT_WATCH_SECONDS = 1.0
PASSING_SECONDS = 30.0
"""A server that restarts is away for less; the store is as good as it was."""
FORGOTTEN_SECONDS = 2 * LONGEST_DELAY_SECONDS
"""Whoever has failed for so long and was not heard of since is following again."""
ABSENT_SECONDS = 600.0
"""So long a server is believed not to have a kind that it need not have."""
AT_A_TIME = 1000
"""So many objects of a list are taken in before the event loop may do something else."""


class EventHandler(Protocol[T_contra]):
    """Told about changes, synchronously and in order. It must not block. None is for what it need not be told."""

    @property
    def on_add(self) -> Callable[[T_contra], None] | None: ...
    @property
    def on_update(self) -> Callable[[T_contra, T_contra], None] | None: ...
    @property
    def on_delete(self) -> Callable[[T_contra], None] | None: ...


class Callbacks(Generic[T]):
    """An `EventHandler` made of functions."""

    def __init__(
        self,
        add: Callable[[T], None] | None = None,
        update: Callable[[T, T], None] | None = None,
        delete: Callable[[T], None] | None = None,
    ) -> None:
        self.on_add, self.on_update, self.on_delete = add, update, delete


class Informer(Generic[T]):
    """`store` holds the objects by "namespace/name" (or name), kept up to date while `run` runs.

    `store` is updated before a handler is told, so handlers may read it. Objects in it are shared: never change them.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        handler: EventHandler[T] | None = None,
        indexers: Mapping[str, Indexer[T]] | None = None,
        rng: random.Random | None = None,
        watch_list: bool = True,
        may_be_absent: bool = False,
    ) -> None:
        """Without `watch_list` the first view is fetched in pages: large ones cost the server a third of the CPU.

        Where the kind `may_be_absent`, a server without it is asked again after minutes, and nothing is said of it.
        """
        self.resource = resource
        self.store: dict[str, T] = {}
        self.resource_version: str | None = None
        self.relists = 0
        self.trouble: Exception | None = None
        """Why the last attempt to follow the server failed: not installed, forbidden, not reached, not trusted."""
        self._client = client
        self._scope = (namespace, label_selector, field_selector)
        self._on_add: list[Callable[[T], None]] = []
        self._on_update: list[Callable[[T, T], None]] = []
        self._on_delete: list[Callable[[T], None]] = []
        self._indexers = dict(indexers or {})
        self._indices: dict[str, dict[str, dict[str, None]]] = {name: {} for name in self._indexers}
        self._rng = rng or random.Random()
        self._synced = asyncio.Event()
        self._use_watch_list = watch_list
        self._may_be_absent = may_be_absent
        self._delay = 0.0
        self._troubled = (0.0, 0.0)
        """When the latest row of failures began, and when the last of them was (monotonic seconds)."""
        if handler is not None:
            self.add_handler(handler)

    # Reading

    async def synced(self) -> None:
        """Wait until the store shows the whole collection for the first time."""
        await self._synced.wait()

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    def problem(self) -> str | None:
        """The kind and what is the matter, while the store does not show the server or has long lost sight of it."""
        first, last = self._troubled
        lasting = last - first >= PASSING_SECONDS and time.monotonic() - last < FORGOTTEN_SECONDS
        if self.has_synced and not lasting:
            return None
        kind = f"{self.resource.plural}.{self.resource.group}" if self.resource.group else self.resource.plural
        if isinstance(self.trouble, NotFound):
            version = self.resource.api_version
            return f"{kind} (not served as {version}: install the CustomResourceDefinition of this version)"
        return f"{kind} ({self.trouble or 'not yet listed'})"

    def get(self, name: str, namespace: str | None = None) -> T | None:
        return self.store.get(f"{namespace}/{name}" if namespace else name)

    def by_index(self, index: str, value: str) -> list[T]:
        """The objects for which the indexer `index` yields `value`."""
        return [self.store[key] for key in self._indices[index].get(value, ())]

    def add_handler(self, handler: EventHandler[T]) -> None:
        """Tell `handler` about every object already known, and about all changes from now on."""
        if handler.on_update is not None:
            self._on_update.append(handler.on_update)
        if handler.on_delete is not None:
            self._on_delete.append(handler.on_delete)
        if handler.on_add is not None:
            self._on_add.append(handler.on_add)
            for obj in list(self.store.values()):
                self._tell([handler.on_add], obj)

    def forget_handlers(self) -> None:
        """Tell nobody any more; the store is kept up to date."""
        for callbacks in (self._on_add, self._on_update, self._on_delete):
            callbacks.clear()

    # Following the server

    async def run(self) -> None:
        """Follow the server until cancelled. Failures are logged and retried, with growing delays."""
        loop = asyncio.get_running_loop()
        while True:
            started, seen = loop.time(), self.resource_version
            try:
                try:
                    if self.resource_version is None:
                        await self._start()
                    else:
                        await self._watch(self.resource_version)
                finally:
                    if loop.time() - started > max(SHORT_WATCH_SECONDS, self._delay):
                        self._delay = 0.0  # a quiet watch was one, too: what breaks it now has nothing to do with then
            except Gone:
                log.info("%s: the watch is too old to resume, listing again", self.resource.plural)
                self.resource_version = None
                await self._pause(None, EXPIRED_DELAY_SECONDS)
            except ApiError as error:
                if self._may_be_absent and isinstance(error, NotFound):
                    self._failed(error)
                    await asyncio.sleep(ABSENT_SECONDS * self._rng.uniform(0.5, 1.0))
                    continue
                log.warning("%s: the server refused to watch: %s", self.resource.plural, error)
                if isinstance(self.trouble, OSError):
                    self._delay = 0.0  # it is there again, and may not know everybody's rights yet
                self._failed(error)
                await self._pause(error.retry_after)
            except (OSError, TimeoutError, msgspec.DecodeError, RecursionError) as error:
                log.warning("%s: the watch broke: %s", self.resource.plural, error)
                self._failed(error)
                await self._pause(None, UNREACHED_DELAY_SECONDS)
            else:
                if seen == self.resource_version and loop.time() - started < SHORT_WATCH_SECONDS:
                    await self._pause(None)

    async def _start(self) -> None:
        """Fill the store, by a streamed list where the server can and by pages elsewhere, and go on watching."""
        if self._use_watch_list:
            try:
                await self._watch_list()
            except (Invalid, BadRequest):
                self._use_watch_list = False
            else:
                return
        listing = await self._client.list(self.resource, *self._scope)
        await self._replace({head_of(obj).key: obj for obj in listing.items}, listing.resource_version)

    async def _watch_list(self) -> None:
        """One stream that starts with the current objects. Servers that ignore the wish are found by their silence."""
        initial: dict[str, T] = {}
        async with aclosing(self._stream(send_initial_events=True)) as events:
            while not (event := await self._next_initial(events)).ends_initial_events:
                key = head_of(event.object).key
                if event.type == "DELETED":
                    initial.pop(key, None)
                elif event.type != "BOOKMARK":
                    initial[key] = event.object
            await self._replace(initial, event.resource_version)
            async for event in events:
                self._apply(event)

    async def _next_initial(self, events: AsyncGenerator[WatchEvent[T], None]) -> WatchEvent[T]:
        try:
            async with asyncio.timeout(INITIAL_SILENCE_SECONDS):
                return await anext(events)
        except TimeoutError:
            raise Invalid("the server does not send initial events") from None
        except StopAsyncIteration:
            raise ConnectionResetError("the stream ended before the initial events were complete") from None

    async def _watch(self, resource_version: str) -> None:
        async with aclosing(self._stream(resource_version=resource_version)) as events:
            async for event in events:
                self._apply(event)

    def _stream(
        self, *, resource_version: str | None = None, send_initial_events: bool = False
    ) -> AsyncGenerator[WatchEvent[T], None]:
        return self._client.watch(
            self.resource,
            *self._scope,
            resource_version=resource_version,
            send_initial_events=send_initial_events,
            timeout_seconds=self._rng.randint(*WATCH_SECONDS),
            unreadable=lambda head: self._remove(head.key),
        )

    def _failed(self, error: Exception) -> None:
        now = time.monotonic()
        first, last = self._troubled
        self.trouble, self._troubled = error, (now if now - last > FORGOTTEN_SECONDS else first, now)

    async def _pause(self, seconds: float | None, longest: float = LONGEST_DELAY_SECONDS) -> None:
        """Wait before the next attempt: what the server asked for, or twice as long as last time, with jitter."""
        self._delay = min(max(self._delay * 2, FIRST_DELAY_SECONDS), longest)
        await asyncio.sleep(max(seconds or 0.0, self._delay * self._rng.uniform(0.5, 1.0)))

    # Keeping the store

    async def _replace(self, objects: dict[str, T], resource_version: str) -> None:
        """Make the store equal to a complete list, telling handlers the difference. Others get their turn meanwhile."""
        self.relists += 1
        for key in [key for key in self.store if key not in objects]:
            self._remove(key)
        for number, (key, obj) in enumerate(objects.items(), 1):
            self._put(key, obj, head_of(obj))
            if number % AT_A_TIME == 0:
                await asyncio.sleep(0)
        self.resource_version = resource_version
        self._delay = 0.0
        self.trouble, self._troubled = None, (0.0, 0.0)
        self._synced.set()

    def _apply(self, event: WatchEvent[T]) -> None:
        self._delay = 0.0
        head = head_of(event.object)
        if event.type == "DELETED":
            self._remove(head.key, event.object)
        elif event.type != "BOOKMARK":
            self._put(head.key, event.object, head)
        self.resource_version = event.resource_version

    def _put(self, key: str, obj: T, after: ObjectMeta) -> None:
        old = self.store.get(key)
        if old is None:
            self.store[key] = obj
            self._reindex(key, None, obj)
            self._tell(self._on_add, obj)
            return
        before = head_of(old)
        if before.resource_version == after.resource_version:
            return
        if before.uid != after.uid:
            self._remove(key)
            self._put(key, obj, after)
            return
        self.store[key] = obj
        self._reindex(key, old, obj)
        self._tell(self._on_update, old, obj)

    def _remove(self, key: str, last: T | None = None) -> None:
        """Forget an object. Handlers get its last state where the server told it."""
        old = self.store.pop(key, None)
        if old is None:
            return
        self._reindex(key, old, None)
        self._tell(self._on_delete, old if last is None else last)

    def _reindex(self, key: str, old: T | None, new: T | None) -> None:
        for name, indexer in self._indexers.items():
            before = set(indexer(old)) if old is not None else set()
            after = set(indexer(new)) if new is not None else set()
            index = self._indices[name]
            for value in before - after:
                keys = index[value]
                del keys[key]
                if not keys:
                    del index[value]
            for value in after - before:
                index.setdefault(value, {})[key] = None

    def _tell(self, callbacks: Iterable[Callable[..., None]], *objects: Any) -> None:
        """Call handlers; what one raises is logged, so that one bad object spoils only itself."""
        for callback in callbacks:
            try:
                callback(*objects)
            except Exception:
                log.exception("a handler failed for %s %s", self.resource.kind, head_of(objects[-1]).key)
