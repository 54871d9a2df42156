"""A busy event loop rests between its turns until it has little to do; one that is hardly used never does."""

from __future__ import annotations

import asyncio

import pytest

from tests.waiting import until
from volcano.http import resting
from volcano.http.resting import TURN_SECONDS, resting_in_a_rush


class Clock:
    """In place of the module `time`: nothing takes time but rests, of which a thread is busy for `share` meanwhile."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.rests = 0

    def sleep(self, seconds: float) -> None:
        assert seconds == pytest.approx(TURN_SECONDS)
        self.rests += 1

    def monotonic(self) -> float:
        return self.rests * TURN_SECONDS

    def thread_time(self) -> float:
        return self.monotonic() * self.share


class Loop:
    """What the system says of the thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, share: float, wakeups_per_look: int) -> None:
        self.clock = Clock(share)
        self.wakeups_per_look = wakeups_per_look
        self.looks = 0
        monkeypatch.setattr(resting, "time", self.clock)
        monkeypatch.setattr(resting, "LOOK_SECONDS", 0.01)
        monkeypatch.setattr(resting, "WAKEUPS_PER_SECOND", 1000.0)  # ten in the time between two looks
        monkeypatch.setattr(resting, "_wakeups", self.wakeups)
        self._count = 0

    def wakeups(self) -> int:
        self.looks += 1
        self._count += self.wakeups_per_look
        return self._count

    async def looked(self, times: int) -> None:
        wanted = self.looks + times
        await until(lambda: self.looks >= wanted)


def test_a_loop_that_wakes_up_often_rests_until_it_has_little_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, share=0.5, wakeups_per_look=10)

    async def run() -> None:
        async with resting_in_a_rush():
            await until(lambda: loop.clock.rests > 50)
            loop.clock.share = 0.0
            loop.wakeups_per_look = 0
            await loop.looked(1)
            before = loop.clock.rests
            await loop.looked(3)
            assert loop.clock.rests == before

    asyncio.run(run())


def test_a_lull_between_two_cycles_is_not_the_end_of_a_rush(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, share=0.5, wakeups_per_look=10)
    monkeypatch.setattr(loop.clock, "thread_time", lambda: loop.clock.rests // 3 * 0.01)  # each look is a rest

    async def run() -> None:
        async with resting_in_a_rush():
            await until(lambda: loop.clock.rests > 1)
            began = loop.looks
            await until(lambda: loop.clock.rests > 50)
            assert loop.looks == began

    asyncio.run(run())


def test_a_quiet_loop_never_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, share=0.5, wakeups_per_look=9)

    async def run() -> None:
        async with resting_in_a_rush():
            await loop.looked(5)

    asyncio.run(run())
    assert loop.clock.rests == 0


def test_a_loop_that_is_starting_does_not_rest_until_it_was_calm_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, share=0.5, wakeups_per_look=10)
    busy = iter(range(25))

    def thread_time() -> float:
        return next(busy, 24) * 1.0

    async def run() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(loop.clock, "thread_time", thread_time)
            async with resting_in_a_rush():
                await until(lambda: next(busy, None) is None)
                assert loop.looks == 0
                assert loop.clock.rests == 0
                await until(lambda: loop.clock.rests > 0)

    asyncio.run(run())


def test_wakeups_of_a_thread_are_counted() -> None:
    async def run() -> int:
        before = resting._wakeups()
        for _ in range(20):
            await asyncio.sleep(0.001)
        return resting._wakeups() - before

    assert asyncio.run(run()) >= 10
