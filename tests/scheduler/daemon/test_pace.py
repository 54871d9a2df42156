"""Rests between cycles."""

from __future__ import annotations

import pytest

from volcano.scheduler.daemon.pace import (
    BURST,
    DEBOUNCE_SECONDS,
    LONGEST_SECONDS,
    REFILL_SECONDS,
    RUSH_SECONDS,
    CyclePace,
)


def paced(*costs: float) -> CyclePace:
    pace = CyclePace(0.0)
    for seconds in costs:
        pace.cost(seconds)
    return pace


@pytest.mark.parametrize(
    ("costs", "seconds"),
    [
        ((), DEBOUNCE_SECONDS),
        ((0.001,), DEBOUNCE_SECONDS),
        ((0.01, 0.01, 0.01), 0.04),
        ((0.001, 0.5, 0.001), DEBOUNCE_SECONDS),  # the first of its kind, perhaps: everything had to be loaded
        ((2.0, 2.0, 2.0), LONGEST_SECONDS),
    ],
)
def test_a_rest_is_as_long_as_cycles_usually_cost(costs: tuple[float, ...], seconds: float) -> None:
    assert paced(*costs).pause_seconds(0.0) == pytest.approx(seconds)


def test_in_a_rush_rests_are_longer_until_it_is_over() -> None:
    pace = paced(0.001)
    assert [pace.pause_seconds(0.0) for _ in range(BURST)] == [DEBOUNCE_SECONDS] * BURST
    assert pace.pause_seconds(0.0) == RUSH_SECONDS
    assert [pace.pause_seconds(number * RUSH_SECONDS) for number in range(1, 9)] == [RUSH_SECONDS] * 8
    calm = 8 * RUSH_SECONDS + 2 * REFILL_SECONDS
    assert pace.pause_seconds(calm) == DEBOUNCE_SECONDS
    assert pace.pause_seconds(calm) == RUSH_SECONDS
