"""A priority queue whose keys may change: what surfaces is always the first, and keys are asked for when they count."""

from __future__ import annotations

import random

import pytest

from volcano.scheduler.framework.heap import Heap


def test_elements_come_by_their_keys() -> None:
    heap = Heap(lambda name: (len(name), name), ["ccc", "a", "bb", "aa"])

    assert [heap.pop() for _ in range(4)] == ["a", "aa", "bb", "ccc"]
    assert not heap


def test_nobody_asks_for_the_key_of_an_element_that_is_alone() -> None:
    asked: list[str] = []

    def key(name: str) -> tuple[str]:
        asked.append(name)
        return (name,)

    heap = Heap(key, ["a"])
    heap.push(heap.pop())

    assert heap.first() == "a"
    assert asked == []
    heap.push("b")
    assert sorted(set(asked)) == ["a", "b"]


@pytest.mark.parametrize("restless", [False, True])
def test_the_first_stays_until_its_key_says_otherwise(restless: bool) -> None:
    weights = {"a": 1, "b": 2, "c": 3}
    heap = Heap(lambda name: (weights[name],), weights, restless=restless)

    assert heap.first() == "a"
    assert heap.first() == "a"
    assert len(heap) == 3
    weights["a"] = 4
    assert heap.first() == "b"
    heap.drop()

    assert [heap.pop() for _ in range(2)] == ["c", "a"]


def test_where_all_keys_may_change_the_first_of_this_moment_is_found() -> None:
    weights = {"a": 1, "b": 2, "c": 3}
    heap = Heap(lambda name: (weights[name],), weights, restless=True)

    weights["c"] = 0

    assert heap.pop() == "c"


@pytest.mark.parametrize("seed", range(5))
def test_turns_are_taken_as_if_each_had_been_taken_out_and_put_back(seed: int) -> None:
    rng = random.Random(seed)
    steps = {name: rng.randint(1, 9) for name in "abcdefgh"}

    assert _turns(steps, stays=True) == _turns(steps, stays=False)


def _turns(steps: dict[str, int], *, stays: bool) -> list[str]:
    """Who is served, while whoever is served comes later by its step, and not at all from 40 on."""
    served = dict.fromkeys(steps, 0)
    heap = Heap(lambda name: (served[name], name), steps)
    order: list[str] = []
    while heap:
        name = heap.first() if stays else heap.pop()
        order.append(name)
        served[name] += steps[name]
        if served[name] > 40 and stays:
            heap.drop()
        elif served[name] <= 40 and not stays:
            heap.push(name)
    return order
