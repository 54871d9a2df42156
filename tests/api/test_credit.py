"""What a queue's annotation says about podgroups that are let in before they are there, and what it does not say."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from volcano.api import credit
from volcano.api.credit import Credit
from volcano.api.keys import ADMISSION_CREDIT
from volcano.api.meta import ObjectMeta

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
WRITTEN = {
    "id": "a1",
    "schedulerNames": ["volcano"],
    "groups": 256,
    "each": {"cpu": "2", "memory": "1Gi"},
    "until": "2026-01-01T12:00:00Z",
}


def read(annotation: str) -> Credit | None:
    return credit.of(ObjectMeta(name="q", annotations={ADMISSION_CREDIT: annotation}))


def offered(**each: str) -> Credit:
    return Credit(id="a1", scheduler_names=("volcano",), groups=256, each=each, until=NOON)


def test_what_is_written_is_read() -> None:
    said = offered(cpu="2", memory="1Gi")

    assert json.loads(said.written()) == WRITTEN
    assert read(said.written()) == said


def test_most_queues_have_none() -> None:
    assert credit.of(ObjectMeta(name="q")) is None


def test_a_later_version_may_say_more() -> None:
    assert read(json.dumps({**WRITTEN, "color": "blue"})) == offered(cpu="2", memory="1Gi")


def test_the_end_may_be_told_in_the_time_of_any_place() -> None:
    found = read(json.dumps({**WRITTEN, "until": "2026-01-01T14:00:00+02:00"}))

    assert found is not None
    assert found.until == NOON


@pytest.mark.parametrize(
    "odd",
    [
        {"until": "2026-01-01T12:00:00"},  # of which place?
        {"until": "soon"},
        {"until": 1767268800},
        {"groups": "256"},
        {"groups": 1.5},
        {"groups": None},
        {"groups": -1},
        {"each": {"cpu": "plenty"}},
        {"each": {"cpu": 2}},
        {"each": ["cpu"]},
        {"each": None},
        {"schedulerNames": "volcano"},
        {"id": 7},
    ],
    ids=json.dumps,
)
def test_a_credit_with_an_odd_part_is_none(odd: dict[str, Any]) -> None:
    assert read(json.dumps({**WRITTEN, **odd})) is None


@pytest.mark.parametrize("missing", WRITTEN)
def test_a_credit_with_a_missing_part_is_none(missing: str) -> None:
    assert read(json.dumps({name: value for name, value in WRITTEN.items() if name != missing})) is None


@pytest.mark.parametrize(
    "annotation", ["", "yes", "[]", "7", "{", '{"deep":' + "[" * 100_000], ids=lambda text: repr(text[:8])
)
def test_an_annotation_that_says_something_else_is_none(annotation: str) -> None:
    assert read(annotation) is None


@pytest.mark.parametrize(
    "declared",
    [
        {"cpu": "2", "memory": "1Gi"},
        {"cpu": "2000m", "memory": "1024Mi"},
        {"cpu": 2, "memory": 1 << 30},
        {"cpu": "1", "memory": "1Gi"},
        {"memory": "1"},
        {},
    ],
    ids=str,
)
def test_podgroups_no_larger_than_that_are_covered(declared: dict[str, object]) -> None:
    assert offered(cpu="2", memory="1Gi").covers(declared)


@pytest.mark.parametrize(
    "declared",
    [
        {"cpu": "2001m", "memory": "1Gi"},
        {"cpu": "1", "memory": "2Gi"},
        {"cpu": "1", "nvidia.com/gpu": "1"},
        {"cpu": "1", "nvidia.com/gpu": "0"},  # there may be none of these here at all
    ],
    ids=str,
)
def test_others_are_not(declared: dict[str, object]) -> None:
    assert not offered(cpu="2", memory="1Gi").covers(declared)


def test_where_nobody_asked_for_anything_only_those_who_ask_for_nothing_are_covered() -> None:
    assert offered().covers({})
    assert not offered().covers({"cpu": "1m"})
