"""Scheduling scenarios with known outcomes, through `engine.cycle` and the hooks they name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.corpus import scheduler_worlds as worlds
from tests.corpus.loader import Record, cases, parameters


def _of_kind(kind: str) -> list[Any]:
    return parameters([(name, record) for name, record in cases("scheduler", "*") if record["expectKind"] == kind])


@pytest.mark.parametrize("record", _of_kind("checks"))
def test_outcome(record: Record) -> None:
    missing = worlds.missing(record)
    if missing:
        pytest.skip(f"{_family(record)}: {missing}")
    if not record["expressible"]:
        pytest.skip(f"{_family(record)}: the record is not the whole story")

    assert worlds.differences(record, worlds.run(record)) == []


def _family(record: Record) -> str:
    return "/".join(record["id"].split("/")[:2])
