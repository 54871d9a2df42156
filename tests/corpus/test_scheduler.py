"""Scheduling scenarios with known outcomes, through `engine.cycle` and the hooks they name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.corpus import scheduler_deviations as deviations, scheduler_mocks as mocks, scheduler_worlds as worlds
from tests.corpus.loader import Record, cases, parameters
from tests.corpus.scheduler_calls import ADAPTERS, ROUNDED_TOLERANCE, SCORE_TOLERANCE


def _of_kind(kind: str) -> list[Any]:
    return parameters([(name, record) for name, record in cases("scheduler", "*") if record["expectKind"] == kind])


@pytest.mark.parametrize("record", _of_kind("checks"))
def test_outcome(record: Record) -> None:
    cluster = worlds.cluster_of(record)
    nominated = mocks.nominate(record, cluster)

    differences = worlds.differences(record, worlds.run(record, cluster))

    deviation = deviations.reason(record)
    if differences and deviation:
        pytest.xfail(deviation)
    assert differences == []
    assert all(not sub_job.nominated_hypernode for sub_job in nominated)


@pytest.mark.parametrize("record", _of_kind("calls"))
def test_calls(record: Record) -> None:
    session = worlds.open_session(record)
    tolerance = ROUNDED_TOLERANCE if "topology" in record["id"] else SCORE_TOLERANCE
    for number, call in enumerate(record["calls"]):
        if call.get("error") is not None and call["fn"] != "PredicateFn":
            continue
        got, want = ADAPTERS[call["fn"]](session, call)
        numeric = isinstance(want, float | dict)
        assert got == (pytest.approx(want, abs=tolerance) if numeric else want), f"call {number}: {call['fn']}"
    session.restore()
