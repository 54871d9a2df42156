"""vcctl jobflow: jobs that run in an order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from volcano.api.age import age
from volcano.api.resources import JOB_FLOWS
from volcano.cli.lazy import SuggestingGroup
from volcano.cli.manifest_verbs import add_verbs
from volcano.cli.text import columns, fitted
from volcano.jobs.times import parse_time

Document = dict[str, Any]

HEADER = ("Name", "Namespace", "Phase", "Age")
_JOBS = ("completed", "running", "pending", "failed", "terminated")


@click.group(cls=SuggestingGroup)
def jobflow() -> None:
    """Create, list, get, describe and delete flows of jobs."""


def table(flows: Sequence[Document]) -> str:
    """Padded as upstream pads it."""
    return fitted(HEADER, [_row(flow) for flow in flows], beyond_title=4, beyond_value=4)


def wide_table(flows: Sequence[Document]) -> str:
    """With the numbers of jobs in each state."""
    rows = [
        [*_row(flow), *(len((flow.get("status") or {}).get(f"{state}Jobs") or ()) for state in _JOBS)] for flow in flows
    ]
    return columns((*HEADER, *(state.capitalize() for state in _JOBS)), rows)


def _row(flow: Document) -> list[object]:
    metadata, status = flow["metadata"], flow.get("status") or {}
    phase = (status.get("state") or {}).get("phase", "")
    return [
        metadata["name"],
        metadata.get("namespace", ""),
        phase,
        age(parse_time(metadata.get("creationTimestamp")), datetime.now(UTC)),
    ]


add_verbs(jobflow, JOB_FLOWS, "jobflow", table, wide_table, state=True)
