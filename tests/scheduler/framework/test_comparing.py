"""Keys made of a comparison."""

from __future__ import annotations

from volcano.scheduler.framework.comparing import Compared


def test_parts_of_tuples_are_compared_once() -> None:
    asked: list[tuple[str, str]] = []

    def by_length(left: str, right: str) -> int:
        asked.append((left, right))
        return len(left) - len(right)

    assert (0, Compared(by_length, "a"), 2) < (0, Compared(by_length, "bb"), 1)
    assert asked == [("a", "bb")]


def test_every_comparison_looks_at_things_as_they_are() -> None:
    weights = {"a": 1, "b": 2}
    a, b = (Compared(lambda left, right: weights[left] - weights[right], name) for name in weights)

    assert (a,) < (b,)
    weights["a"] = 3
    assert (b,) < (a,)
    assert (a,) > (b,)
    weights["a"] = 2
    assert (a,) == (b,)
    assert (a, 1) < (b, 2)
