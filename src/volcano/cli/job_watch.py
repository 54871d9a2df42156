"""Following a job to its end: a live table on a terminal, one line per change elsewhere."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from volcano.api.resources import JOBS
from volcano.cli.statuses import NO
from volcano.jobs.failures import failed_pods, failure_lines
from volcano.jobs.phases import COUNTS, FINISHED, phase_of, summary
from volcano.jobs.watching import states

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client


async def follow(client: Client, namespace: str, name: str, *, live: bool) -> int:
    """Show the job's phases until it has finished or is deleted, then why pods failed; 0 when it completed, else 1."""
    show = _LiveView() if live else _Lines()
    phase = ""
    with show:
        async with aclosing(states(client, JOBS, name, namespace)) as found:
            async for job in found:
                show.update(job)
                phase = phase_of(job)
                if phase in FINISHED:
                    break
    if phase == "Completed":
        return 0
    if phase not in FINISHED:
        click.echo(f"{JOBS.singular}/{name} deleted", err=True)
        return NO
    for line in failure_lines(await failed_pods(client, namespace, name)):
        click.echo(line, err=True)
    return NO


class _Lines:
    """One line per change, for logs and pipes."""

    def __init__(self) -> None:
        self._last = ""

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def update(self, job: JsonObject) -> None:
        text = summary(job)
        if text != self._last:
            click.echo(f"job {job['metadata']['name']}  {text}")
            self._last = text


class _LiveView:
    """A table that is redrawn in place."""

    def __init__(self) -> None:
        from rich.live import Live

        self._live = Live(refresh_per_second=8)

    def __enter__(self) -> _LiveView:
        self._live.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self._live.__exit__(None, None, None)

    def update(self, job: JsonObject) -> None:
        from rich.table import Table

        status = job.get("status") or {}
        grid = Table("Task", "Replicas", *(key.capitalize() for key in COUNTS), title=f"{summary(job)}")
        by_task = status.get("taskStatusCount") or {}
        for task in (job.get("spec") or {}).get("tasks") or ():
            phases = (by_task.get(task.get("name", "")) or {}).get("phase") or {}
            row = (str(phases.get(key.capitalize(), "")) for key in COUNTS)
            grid.add_row(task.get("name", ""), str(task.get("replicas", 0)), *row)
        self._live.update(grid)
