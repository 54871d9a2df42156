"""Time that nobody sets."""

from __future__ import annotations

import pytest

from volcano.local.steady import SteadyClock, steady_seconds


def test_steady_seconds_go_on() -> None:
    before = steady_seconds()
    assert steady_seconds() >= before


@pytest.mark.parametrize("step", [3600.0, -3600.0])
def test_a_clock_that_is_set_is_followed_when_asked_to(step: float) -> None:
    wall, steady = [1000.0], [5.0]
    clock = SteadyClock(lambda: wall[0], lambda: steady[0])
    wall[0], steady[0] = 1010.0 + step, 15.0

    assert clock.now() == 1010.0
    assert clock.adjust() == step
    assert clock.now() == 1010.0 + step
    assert clock.adjust() == 0.0


def test_a_clock_that_is_adjusted_slowly_is_followed_when_it_is_a_second_away() -> None:
    wall = [1000.0]
    clock = SteadyClock(lambda: wall[0], lambda: 5.0)
    wall[0] += 0.7
    assert clock.adjust() == 0.0
    wall[0] += 0.7
    assert clock.adjust() == pytest.approx(1.4)
