"""Following a job to its end: a live table on a terminal, one line per change elsewhere."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import click

from volcano.api import phases
from volcano.api.resources import JOBS
from volcano.cli.statuses import NO
from volcano.jobs.failures import failed_pods, failure_lines
from volcano.jobs.phases import COUNTS, FINISHED, phase_of, summary
from volcano.jobs.podgroups import podgroup_of, why_of
from volcano.jobs.watching import key_of, states
from volcano.kube.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from volcano.api.meta import JsonObject
    from volcano.jobs.podgroups import Refusal
    from volcano.kube.client import Client

ASK_SECONDS: Final = 2.0
"""A job that waits for so long is asked why, and again each time as much has passed."""


async def follow(client: Client, namespace: str, name: str, *, live: bool) -> int:
    """Show the job's phases until it has finished or is deleted, then why pods failed; 0 when it completed, else 1."""
    show = _LiveView() if live else _Lines()
    phase = ""
    with show:
        async with aclosing(states(client, JOBS, name, namespace)) as found, _asking(client, show):
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


@asynccontextmanager
async def _asking(client: Client, show: _Lines | _LiveView) -> AsyncGenerator[None, None]:
    """Meanwhile say why the job waits, whenever it does for a while."""

    async def ask() -> None:
        while True:
            await asyncio.sleep(ASK_SECONDS)
            job = show.job
            if job is None or phase_of(job) != phases.PENDING:
                continue
            with suppress(ApiError, OSError):  # a word on the side: whoever reads the states tells of trouble
                why = await _why(client, job)
                if show.job is job:  # else it is about a state that is over
                    show.waits(why)

    asker = asyncio.create_task(ask())
    try:
        yield
    finally:
        asker.cancel()
        with suppress(asyncio.CancelledError):
            await asker


async def _why(client: Client, job: JsonObject) -> Refusal:
    podgroup = await podgroup_of(client, job)
    return why_of(job, {key_of(podgroup): podgroup} if podgroup else {})


class _Lines:
    """One line per change, for logs and pipes."""

    def __init__(self) -> None:
        self.job: JsonObject | None = None
        self._last = ""
        self._reason = ""

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def update(self, job: JsonObject) -> None:
        self.job = job
        text = summary(job)
        if text != self._last:
            click.echo(f"job {job['metadata']['name']}  {text}")
            self._last = text
            self._reason = ""

    def waits(self, why: Refusal) -> None:
        """Once for each reason: the numbers of its message change all the time."""
        if why.message and why.reason != self._reason and self.job is not None:
            click.echo(f"job {self.job['metadata']['name']}  waits: {why.message}")
            self._reason = why.reason


class _LiveView:
    """A table that is redrawn in place."""

    def __init__(self) -> None:
        from rich.live import Live

        self.job: JsonObject | None = None
        self._live = Live(refresh_per_second=8)

    def __enter__(self) -> _LiveView:
        self._live.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self._live.__exit__(None, None, None)

    def update(self, job: JsonObject) -> None:
        self.job = job
        self._draw(job, "")

    def waits(self, why: Refusal) -> None:
        if self.job is not None:
            self._draw(self.job, why.message)

    def _draw(self, job: JsonObject, waits_for: str) -> None:
        from rich.table import Table
        from rich.text import Text

        status = job.get("status") or {}
        caption = Text(f"waits: {waits_for}") if waits_for else None
        columns = ("Task", "Replicas", *(key.capitalize() for key in COUNTS))
        grid = Table(*columns, title=summary(job), caption=caption)
        by_task = status.get("taskStatusCount") or {}
        for task in (job.get("spec") or {}).get("tasks") or ():
            phases = (by_task.get(task.get("name", "")) or {}).get("phase") or {}
            row = (str(phases.get(key.capitalize(), "")) for key in COUNTS)
            grid.add_row(task.get("name", ""), str(task.get("replicas", 0)), *row)
        self._live.update(grid)
