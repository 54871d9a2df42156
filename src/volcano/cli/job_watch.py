"""Following a job to its end: a live table on a terminal, one line per change elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from volcano.kube.client import Client

Document = dict[str, Any]

FINISHED = frozenset({"Completed", "Failed", "Terminated", "Aborted"})
_COUNTS = ("pending", "running", "succeeded", "failed", "terminating")


async def follow(client: Client, namespace: str, name: str, *, live: bool) -> int:
    """Show the job's phases until it has finished, then why pods failed; 0 when it completed, 1 otherwise."""
    from volcano.cli.job_failures import failed_pods, failure_lines

    show = _LiveView() if live else _Lines()
    phase = ""
    with show:
        async for job in states(client, namespace, name):
            show.update(job)
            phase = phase_of(job)
            if phase in FINISHED:
                break
    if phase == "Completed":
        return 0
    for line in failure_lines(await failed_pods(client, namespace, name)):
        click.echo(line, err=True)
    return 1


async def states(client: Client, namespace: str, name: str) -> AsyncIterator[Document]:
    """The job now, and again each time it changes, until it is gone. Survives a restart of the API server."""
    import asyncio

    from volcano.api.resources import JOBS
    from volcano.kube.errors import Gone, NotFound

    while True:
        try:
            job = await client.get(JOBS.untyped, name, namespace)
            yield job
            version = job["metadata"]["resourceVersion"]
            selector = f"metadata.name={name}"
            async for event in client.watch(JOBS.untyped, namespace, field_selector=selector, resource_version=version):
                if event.type == "DELETED":
                    return
                if event.type in ("ADDED", "MODIFIED"):
                    yield event.object
        except NotFound:
            return
        except (Gone, OSError):
            await asyncio.sleep(0.5)


def phase_of(job: Document) -> str:
    """The job's phase; "" before the controller has seen it."""
    phase: str = ((job.get("status") or {}).get("state") or {}).get("phase", "")
    return phase


def summary(job: Document) -> str:
    """`Running: 4 running, 0 succeeded …`: the phase and the pod counts that are not zero."""
    status = job.get("status") or {}
    counts = ", ".join(f"{status[key]} {key}" for key in _COUNTS if status.get(key))
    retries = f", retry {status['retryCount']}" if status.get("retryCount") else ""
    return f"{phase_of(job) or 'Submitted'}{': ' + counts if counts else ''}{retries}"


class _Lines:
    """One line per change, for logs and pipes."""

    def __init__(self) -> None:
        self._last = ""

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def update(self, job: Document) -> None:
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

    def update(self, job: Document) -> None:
        from rich.table import Table

        status = job.get("status") or {}
        grid = Table("Task", "Replicas", *(key.capitalize() for key in _COUNTS), title=f"{summary(job)}")
        by_task = status.get("taskStatusCount") or {}
        for task in (job.get("spec") or {}).get("tasks") or ():
            phases = (by_task.get(task.get("name", "")) or {}).get("phase") or {}
            row = (str(phases.get(key.capitalize(), "")) for key in _COUNTS)
            grid.add_row(task.get("name", ""), str(task.get("replicas", 0)), *row)
        self._live.update(grid)
