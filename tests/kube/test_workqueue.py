"""The work queue: one worker per key, no key twice, delays and back-off."""

from __future__ import annotations

import asyncio

import pytest
import uvloop
from hypothesis import given, settings, strategies as st

from volcano.kube.workqueue import ShutDown, WorkQueue


def test_a_key_waits_once_and_comes_again_when_added_during_work() -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        queue.add("a")
        queue.add("b")
        assert len(queue) == 2
        assert await queue.get() == "a"
        queue.add("a")
        assert len(queue) == 1
        queue.done("a")
        assert [await queue.get(), await queue.get()] == ["b", "a"]

    asyncio.run(main())


def test_of_several_delays_the_shortest_counts() -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue()
        loop = asyncio.get_running_loop()
        started = loop.time()
        queue.add_after("slow", 0.08)
        queue.add_after("a", 10)
        queue.add_after("a", 0.02)
        queue.add_after("a", 5)
        assert await queue.get() == "a"
        assert 0.01 < loop.time() - started < 4.0
        assert await queue.get() == "slow"

    asyncio.run(main())


def test_a_delay_that_is_dropped_brings_no_key_and_a_later_one_does() -> None:
    async def main() -> list[str]:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("a", 0.01)
        queue.add_after("b", 0.02)
        queue.drop_delay("a")
        queue.drop_delay("never delayed")
        order = [await queue.get()]
        queue.add_after("a", 0.01)
        return [*order, await queue.get()]

    assert asyncio.run(main()) == ["b", "a"]


def test_delays_that_are_hastened_are_over_now_and_once() -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("a", 0.02)
        queue.add_after("b", 1000)
        queue.hasten()
        assert [await queue.get(), await queue.get()] == ["a", "b"]
        for key in "ab":
            queue.done(key)
        queue.add_after("c", 0.05)
        assert await queue.get() == "c"
        assert len(queue) == 0

    asyncio.run(main())


def test_delays_that_are_over_at_once_are_delays_on_every_event_loop() -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("now", 1e-6)
        queue.add_after("even sooner", 1e-7)
        assert {await queue.get(), await queue.get()} == {"now", "even sooner"}

    asyncio.run(main())
    uvloop.run(main())


def test_failing_keys_wait_twice_as_long_each_time() -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue(base_seconds=0.01, max_seconds=0.04)
        loop = asyncio.get_running_loop()
        waits = []
        for _ in range(4):
            started = loop.time()
            queue.add_rate_limited("a")
            queue.done(await queue.get())
            waits.append(loop.time() - started)
        for wait, least in zip(waits, (0.01, 0.02, 0.04, 0.04), strict=True):
            assert least - 0.005 < wait < least + 10.0  # a busy machine may take its time
        queue.forget("a")
        assert queue.failures("a") == 0

    asyncio.run(main())


def test_shutting_down_finishes_what_is_ready() -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue()
        waiting = asyncio.create_task(queue.get())
        await asyncio.sleep(0)
        queue.add("a")
        queue.add("b")
        queue.shut_down()
        queue.add("c")
        assert [await waiting, await queue.get()] == ["a", "b"]
        with pytest.raises(ShutDown):
            await queue.get()

    asyncio.run(main())


@settings(max_examples=50)
@given(st.lists(st.integers(0, 4), max_size=40), st.integers(1, 4))
def test_no_key_is_worked_on_twice_at_once_and_none_is_lost(keys: list[int], workers: int) -> None:
    async def main() -> None:
        queue: WorkQueue[int] = WorkQueue()
        working: set[int] = set()
        last_seen: dict[int, int] = {}
        written: dict[int, int] = {}

        async def work() -> None:
            while True:
                try:
                    key = await queue.get()
                except ShutDown:
                    return
                assert key not in working
                working.add(key)
                last_seen[key] = written[key]
                await asyncio.sleep(0)
                working.discard(key)
                queue.done(key)

        tasks = [asyncio.create_task(work()) for _ in range(workers)]
        for number, key in enumerate(keys):
            written[key] = number
            queue.add(key)
            if number % 3 == 0:
                await asyncio.sleep(0)
        await queue.idle()
        queue.shut_down()
        await asyncio.gather(*tasks)
        assert last_seen == written

    asyncio.run(main())
