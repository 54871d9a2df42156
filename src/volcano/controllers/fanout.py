"""Many small writes at once, but never too many in flight; stops early when all of them are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

from volcano.controllers.runtime import Waits
from volcano.kube.errors import ApiError

T = TypeVar("T")

IN_FLIGHT = 64
"""Enough to keep a server busy, few enough to leave it responsive to others."""
TOLERATED_FAILURES = 16
OLDEST_EVERY = 4
REFUSALS = (ApiError, OSError, TimeoutError, Waits)


async def each(
    items: Sequence[T], action: Callable[[T], Awaitable[None]], turns: Turns | None = None
) -> list[Exception]:
    """Do `action` for every item; returns what was refused. After too many refusals the rest is left for later.

    Callers that share `turns` share what is in flight: more connections make no server faster.
    """
    return await (turns or Turns()).take(items, action)


class Turns:
    """At most `limit` actions in flight, of all calls together.

    The smallest call goes first, the older of equal ones: so that gangs are complete one after the other, not all at
    the end, and no small one waits for a large one. Every fourth turn is the oldest call's, lest it waits for ever.
    """

    def __init__(self, limit: int = IN_FLIGHT) -> None:
        self._limit = limit
        self._calls: list[Call[Any]] = []
        self._working = 0
        self._workers: set[asyncio.Task[None]] = set()
        self._turn = 0

    async def take(self, items: Sequence[T], action: Callable[[T], Awaitable[None]]) -> list[Exception]:
        if not items:
            return []
        if len(items) == 1 and not self._calls and self._working < self._limit:
            return await self._at_once(items[0], action)
        call = Call(items, len(items), action)
        self._calls.append(call)
        self._hire(len(items))
        try:
            return await call.done
        finally:
            call.leave()

    async def _at_once(self, item: T, action: Callable[[T], Awaitable[None]]) -> list[Exception]:
        """A single action while nobody waits for a turn needs no worker."""
        self._working += 1
        try:
            await action(item)
        except REFUSALS as error:
            return [error]
        finally:
            self._working -= 1
            self._hire(len(self._calls))  # for those that came in the meantime and found no turn free
        return []

    def _hire(self, most: int) -> None:
        for _ in range(min(most, self._limit - self._working)):
            self._working += 1
            worker = asyncio.create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    async def _work(self) -> None:
        try:
            while self._calls:
                self._turn += 1
                oldest = self._turn % OLDEST_EVERY == 0
                call = self._calls[0] if oldest else min(self._calls, key=attrgetter("size"))
                if not await call.step():
                    self._calls = [other for other in self._calls if other is not call]
        finally:
            self._working -= 1


class Call(Generic[T]):
    """The actions of one caller: some done, some in flight, some left. `done` are the refusals, once all are over."""

    def __init__(self, items: Iterable[T], size: int, action: Callable[[T], Awaitable[None]]) -> None:
        self.size = size
        self.done: asyncio.Future[list[Exception]] = asyncio.get_running_loop().create_future()
        self._left = iter(items)
        self._action = action
        self._in_flight = 0
        self._failures: list[Exception] = []
        self._exhausted = False

    async def step(self) -> bool:
        """Do the next action; False when none is left."""
        for item in self._left:
            self._in_flight += 1
            try:
                await self._action(item)
            except REFUSALS as error:
                self._failures.append(error)
                if len(self._failures) >= TOLERATED_FAILURES:
                    self.leave()
            except Exception as error:  # noqa: BLE001 - the caller's to handle
                self.leave()
                if not self.done.done():
                    self.done.set_exception(error)
            finally:
                self._in_flight -= 1
                self._conclude()
            return True
        self._exhausted = True
        self._conclude()
        return False

    def leave(self) -> None:
        """Begin nothing more."""
        self._left = iter(())

    def _conclude(self) -> None:
        if self._exhausted and not self._in_flight and not self.done.done():
            self.done.set_result(self._failures)
