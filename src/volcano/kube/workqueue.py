"""A queue of keys to reconcile: each key is worked on by one worker at a time, and waits at most once.

Used by controllers. Keys come from informers; failures come back later through `add_rate_limited`.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

K = TypeVar("K")


class ShutDown(Exception):
    """The queue was shut down and is empty."""


class WorkQueue(Generic[K]):
    """`get` a key, work on it, call `done` (or let `work` do so). A key added in between comes again after `done`.

    Failing keys wait `base_seconds * 2**failures`, at most `max_seconds`, until `forget` resets them.
    """

    def __init__(self, *, base_seconds: float = 0.005, max_seconds: float = 1000.0) -> None:
        self._base_seconds = base_seconds
        self._max_seconds = max_seconds
        self._ready: deque[K] = deque()
        self._waiting: set[K] = set()
        self._working: set[K] = set()
        self._again: set[K] = set()
        self._failures: dict[K, int] = {}
        self._delayed: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._sequence = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        """Kept beside the timer: uvloop's have no `when` if they are due at once."""
        self._getters: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self._idle: asyncio.Event | None = None
        self.adds = 0
        self.retries = 0

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: K) -> None:
        """Work on `key` soon. Does nothing when it already waits."""
        if self._closed or key in self._waiting:
            return
        self.adds += 1
        if key in self._working:
            self._again.add(key)
            return
        self._waiting.add(key)
        self._ready.append(key)
        self._wake_one()

    def add_after(self, key: K, seconds: float) -> None:
        """Work on `key` after a delay. Of several delays for one key the shortest counts."""
        if seconds <= 0:
            self.add(key)
            return
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        if key in self._due and self._due[key] <= due:
            return
        self._due[key] = due
        heapq.heappush(self._delayed, (due, next(self._sequence), key))
        if self._timer is None or self._timer_due > due:
            if self._timer is not None:
                self._timer.cancel()
            self._wake_at(due)

    def hasten(self) -> None:
        """No key waits for the end of its delay any longer: what delays were reckoned from has changed."""
        for key in list(self._due):
            self.add(key)
        self._due.clear()

    def drop_delay(self, key: K) -> None:
        """Whatever `key` was to wait for is over: it comes again when somebody adds it."""
        self._due.pop(key, None)

    def add_rate_limited(self, key: K) -> None:
        """Work on `key` again after its back-off, which doubles with every call until `forget`."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retries += 1
        self.add_after(key, min(self._base_seconds * 2.0 ** min(failures, 64), self._max_seconds))

    def forget(self, key: K) -> None:
        """`key` succeeded: its next failure starts with the shortest delay."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How often `key` was added by `add_rate_limited` since it last succeeded."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """The next key. Raises `ShutDown` once the queue is shut down and empty."""
        while not self._ready:
            if self._closed:
                raise ShutDown
            getter = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if not getter.cancelled() and self._ready:
                    self._wake_one()
                raise
        key = self._ready.popleft()
        self._waiting.discard(key)
        self._working.add(key)
        return key

    def done(self, key: K) -> None:
        """The worker has finished with `key`, successfully or not."""
        self._working.discard(key)
        if key in self._again:
            self._again.discard(key)
            self._waiting.add(key)
            self._ready.append(key)
            self._wake_one()
        if self._idle is not None and not self._working and not self._ready:
            self._idle.set()

    async def work(self, perform: Callable[[K], Awaitable[None]]) -> None:
        """Be a worker: `perform` one key after the other, until the queue is shut down or `perform` raises."""
        while True:
            try:
                key = await self.get()
            except ShutDown:
                return
            try:
                await perform(key)
            finally:
                self.done(key)

    def shut_down(self) -> None:
        """Accept no more keys. Workers finish what is ready and then see `ShutDown`; delayed keys are dropped."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._delayed.clear()
        self._due.clear()
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
        self._getters.clear()

    async def idle(self) -> None:
        """Wait until nothing is ready and nothing is worked on (delayed keys do not count)."""
        while self._working or self._ready:
            if self._idle is None or self._idle.is_set():
                self._idle = asyncio.Event()
            await self._idle.wait()

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _release_due(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        now = loop.time()
        while self._delayed and self._delayed[0][0] <= now + 0.001:
            due, _, key = heapq.heappop(self._delayed)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
        if self._delayed:
            self._wake_at(self._delayed[0][0])

    def _wake_at(self, due: float) -> None:
        self._timer_due = due
        self._timer = asyncio.get_running_loop().call_at(due, self._release_due)
