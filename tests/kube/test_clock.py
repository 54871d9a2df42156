"""Clocks that are set: noticed, and told to those who wait for a time of day."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from tests.waiting import until
from volcano.kube import clock as clocks
from volcano.kube.clock import ClockWatch, WallClock


class Clocks:
    """A wall clock beside a steady one."""

    def __init__(self) -> None:
        self.wall, self.steady = 1e9, 50.0

    def passes(self, seconds: float, gained: float = 0.0) -> None:
        self.steady += seconds
        self.wall += seconds + gained

    def clock(self) -> WallClock:
        return WallClock(lambda: self.wall, lambda: self.steady)


def test_only_a_step_is_one() -> None:
    clocks = Clocks()
    clock = clocks.clock()
    clocks.passes(3600)
    assert clock.read() == (clocks.wall, 0.0)
    clocks.passes(10, gained=0.5)
    assert clock.read() == (clocks.wall, 0.0)
    clocks.passes(1, gained=-7200)
    assert clock.read() == (clocks.wall, -7200)
    clocks.passes(1)
    assert clock.read() == (clocks.wall, 0.0)


def test_who_waits_is_told_of_each_step_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "LOOK_SECONDS", 0.001)

    async def main() -> None:
        time, told = Clocks(), list[float]()
        watch = ClockWatch(time.clock())
        watch.tell(lambda: told.append(time.wall))
        looking = asyncio.create_task(watch.look())
        for gained in (3600, -3600):
            known = len(told)
            time.passes(10, gained)
            await until(partial(told.__getitem__, known))
            time.passes(10)
            await asyncio.sleep(0.02)
            assert len(told) == known + 1
        looking.cancel()

    asyncio.run(main())
