"""vcctl podgroup: the groups of pods that are scheduled together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.resources import PODGROUPS
from volcano.cli.cells import age_of, name_and_namespace
from volcano.cli.text import columns
from volcano.cli.verbs import Noun
from volcano.jobs.podgroups import refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.api.meta import JsonObject

HEADER = ("Name", "Namespace", "Phase", "Queue", "MinMember", "Running", "Age")


def table(podgroups: Sequence[JsonObject]) -> str:
    return columns(HEADER, [_row(group) for group in podgroups])


def wide_table(podgroups: Sequence[JsonObject]) -> str:
    """With what became of the pods, and why the group waits."""
    rows = []
    for group in podgroups:
        status, why = group.get("status") or {}, refusal(group)
        ended = (status.get("succeeded", 0), status.get("failed", 0))
        rows.append([*_row(group), *ended, why.reason if why else "", why.message if why else ""])
    return columns((*HEADER, "Succeeded", "Failed", "Reason", "Message"), rows)


def _row(group: JsonObject) -> list[object]:
    spec, status = group.get("spec") or {}, group.get("status") or {}
    counts = (spec.get("minMember", 0), status.get("running", 0))
    return [*name_and_namespace(group), status.get("phase", ""), spec.get("queue", ""), *counts, age_of(group)]


podgroup = Noun(PODGROUPS, "podgroup", table, wide_table).group(
    "List, get and describe podgroups and why they wait; create and delete them."
)
