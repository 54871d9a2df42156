"""Cells that the tables of several nouns have."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from volcano.api.age import age
from volcano.jobs.times import parse_time

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject


def name_and_namespace(document: JsonObject) -> list[object]:
    return [document["metadata"]["name"], document["metadata"].get("namespace", "")]


def age_of(document: JsonObject) -> str:
    return since(document["metadata"].get("creationTimestamp"))


def since(stamp: str | None) -> str:
    """How long ago that was; `<unknown>` without a time."""
    return age(parse_time(stamp), datetime.now(UTC))
