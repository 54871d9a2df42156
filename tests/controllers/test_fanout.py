"""Many writes at once: how many, in whose order, and what becomes of those that are refused."""

from __future__ import annotations

import asyncio

import pytest

from tests.waiting import until
from volcano.controllers.fanout import OLDEST_EVERY, TOLERATED_FAILURES, Turns, each
from volcano.kube.errors import Forbidden


def test_never_more_are_in_flight_than_allowed_and_all_are_done() -> None:
    async def scenario() -> tuple[list[int], int]:
        now = most = 0
        done: list[int] = []

        async def write(item: int) -> None:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1
            done.append(item)

        turns = Turns(3)
        refused = await asyncio.gather(each(range(10), write, turns), each(range(10, 15), write, turns))
        assert refused == [[], []]
        return done, most

    done, most = asyncio.run(scenario())
    assert (sorted(done), most) == (list(range(15)), 3)


def test_nothing_to_do_is_done_and_turns_serve_call_after_call() -> None:
    async def scenario() -> list[int]:
        done: list[int] = []

        async def write(item: int) -> None:
            done.append(item)

        turns = Turns(1)
        for number in range(3):
            assert await each([], write, turns) == []
            assert await each([number], write, turns) == []
        return done

    assert asyncio.run(scenario()) == [0, 1, 2]


def test_a_single_write_takes_a_turn_that_the_next_call_gets_after_it() -> None:
    async def scenario() -> list[str]:
        done: list[str] = []
        free = asyncio.Event()

        async def slow(item: str) -> None:
            await free.wait()
            done.append(item)

        async def quick(item: str) -> None:
            done.append(item)

        turns = Turns(1)
        calls = [asyncio.create_task(each(["slow"], slow, turns))]
        await asyncio.sleep(0)
        calls += [asyncio.create_task(each([f"{size}"] * size, quick, turns)) for size in (2, 1)]
        await asyncio.sleep(0)
        assert done == []
        free.set()
        assert await asyncio.gather(*calls) == [[], [], []]
        return done

    assert asyncio.run(scenario()) == ["slow", "1", "2", "2"]


def order_of(*sizes: int) -> list[int]:
    """Whose items are done, one after the other, when calls of these sizes come at once."""

    async def scenario() -> list[int]:
        order: list[int] = []

        async def write(item: int) -> None:
            await asyncio.sleep(0)
            order.append(item)

        turns = Turns(1)
        await asyncio.gather(*(each([caller] * size, write, turns) for caller, size in enumerate(sizes)))
        return order

    return asyncio.run(scenario())


def test_of_equal_calls_one_is_complete_before_the_next_begins() -> None:
    assert order_of(5, 5, 5) == [0] * 5 + [1] * 5 + [2] * 5


def test_a_small_call_does_not_wait_for_a_large_one_and_the_large_one_not_for_ever() -> None:
    order = order_of(100, 10)

    last_of_the_small = len(order) - 1 - order[::-1].index(1)
    assert last_of_the_small < 20
    assert order[:last_of_the_small].count(0) >= 10 // OLDEST_EVERY


def test_refusals_are_returned_and_many_of_them_end_the_call() -> None:
    tried: list[int] = []

    async def refuse(item: int) -> None:
        tried.append(item)
        raise Forbidden("no")

    assert len(asyncio.run(each(range(3), refuse))) == 3
    tried.clear()
    assert len(asyncio.run(Turns(1).take(range(1000), refuse))) == TOLERATED_FAILURES == len(tried)


def test_a_mistake_is_raised_and_nothing_hangs() -> None:
    async def stumble(item: int) -> None:
        raise RuntimeError("a mistake")

    with pytest.raises(RuntimeError, match="a mistake"):
        asyncio.run(each(range(100), stumble))


def test_who_is_cancelled_begins_nothing_more() -> None:
    begun: list[int] = []

    async def scenario() -> None:
        async def write(item: int) -> None:
            begun.append(item)
            await goes_on.wait()

        goes_on = asyncio.Event()
        caller = asyncio.create_task(each(range(100), write, Turns(2)))
        await until(lambda: len(begun) == 2)
        caller.cancel()
        await asyncio.wait([caller])
        goes_on.set()
        await asyncio.sleep(0.05)

    asyncio.run(scenario())
    assert begun == [0, 1]
