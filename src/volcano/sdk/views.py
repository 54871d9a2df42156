"""Jobs as tables: for rich on a terminal, as HTML in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from volcano.sdk.status import Phase, status_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from volcano.api.meta import JsonObject

COLUMNS = ("Job", "Queue", "Phase", "Pending", "Running", "Succeeded", "Failed", "Retries")
COLOURS = {
    Phase.RUNNING: "blue",
    Phase.COMPLETED: "green",
    Phase.FAILED: "red",
    Phase.TERMINATED: "red",
    Phase.ABORTED: "red",
}


def job_table(jobs: Iterable[JsonObject]) -> Table:
    from rich.table import Table

    table = Table(*COLUMNS)
    for job in jobs:
        row = _row(job)
        colour = COLOURS.get(Phase(row[2]), "")
        table.add_row(*row[:2], f"[{colour}]{row[2]}[/]" if colour else row[2], *row[3:])
    return table


def job_html(jobs: Iterable[JsonObject]) -> str:
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    rows = "".join(f"<tr>{_cells(_row(job))}</tr>" for job in jobs)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(row: Sequence[str]) -> str:
    colour = COLOURS.get(Phase(row[2]), "")
    style = f' style="color:{colour}"' if colour else ""
    return "".join(f"<td{style if place == 2 else ''}>{escape(text)}</td>" for place, text in enumerate(row))


def _row(job: JsonObject) -> Sequence[str]:
    status = status_of(job)
    counts = (status.pending, status.running, status.succeeded, status.failed, status.retries)
    queue = (job.get("spec") or {}).get("queue") or ""
    return (str(job["metadata"]["name"]), queue, status.phase, *(str(count or "") for count in counts))
