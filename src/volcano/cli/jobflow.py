"""vcctl jobflow: jobs that run in an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.resources import JOB_FLOWS
from volcano.cli.cells import age_of, name_and_namespace
from volcano.cli.text import columns, fitted
from volcano.cli.verbs import Noun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.api.meta import JsonObject

HEADER = ("Name", "Namespace", "Phase", "Age")
STATES = ("completed", "running", "pending", "failed", "terminated")


def table(flows: Sequence[JsonObject]) -> str:
    """Padded as upstream pads it."""
    return fitted(HEADER, [_row(flow) for flow in flows], beyond_title=4, beyond_value=4)


def wide_table(flows: Sequence[JsonObject]) -> str:
    """With the numbers of jobs in each state."""
    rows = []
    for flow in flows:
        status = flow.get("status") or {}
        rows.append([*_row(flow), *(len(status.get(f"{state}Jobs") or ()) for state in STATES)])
    return columns((*HEADER, *(state.capitalize() for state in STATES)), rows)


def _row(flow: JsonObject) -> list[object]:
    phase = ((flow.get("status") or {}).get("state") or {}).get("phase", "")
    return [*name_and_namespace(flow), phase, age_of(flow)]


jobflow = Noun(JOB_FLOWS, "jobflow", table, wide_table, empty_status=("state",)).group(
    "Create, list, get, describe and delete flows of jobs."
)
