"""Online and batch pods on one loaded core, with an agent that is killed in the end: fourteen real seconds."""

from __future__ import annotations

import pytest

from tests.agent import colocation

WHY_NOT = colocation.absence()


@pytest.mark.skipif(bool(WHY_NOT), reason=str(WHY_NOT))
def test_online_pods_keep_their_throughput_and_batch_pods_get_the_rest() -> None:
    found = colocation.measure(every=0.2, seconds=0.4)
    assert found["online_percent_of_alone_without_agent"] < 80, found
    assert found["online_percent_of_alone_with_agent"] >= 90, found
    assert found["half_busy_online_percent_of_alone_with_agent"] >= 90, found
    assert found["batch_percent_of_alone_beside_half_busy_online"] >= 35, found
    assert found["percent_of_a_core_for_best_effort_before_kill"] <= 10, found
    assert found["seconds_from_kill_to_lifted"] < 5, found
    assert found["best_effort_percent_of_unlimited_after_kill"] >= 80, found
