"""vcctl logs: what all pods of a job write, each line with its pod's name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from volcano.api.resources import JOBS
from volcano.cli.connection import following
from volcano.cli.errors import misuse
from volcano.cli.flags import namespace_flag, one_name
from volcano.cli.objects import one
from volcano.cli.statuses import NO
from volcano.cli.text import on_terminal

if TYPE_CHECKING:
    from volcano.jobs.logs import Choice, Line
    from volcano.kube.client import Client

F = TypeVar("F", bound=Callable[..., Any])

COLORS = ("cyan", "green", "yellow", "blue", "magenta", "bright_cyan", "bright_green", "bright_yellow")


def log_flags(command: F) -> F:
    """Which lines to print; the command gets them as `follow`, `choice` and `prefix`."""

    @click.option("-f", "--follow", is_flag=True, help="Keep printing until the job has ended.")
    @click.option("-c", "--container", default=None, help="Container of each pod; its first by default.")
    @click.option("--tail", default=None, type=click.IntRange(0), help="Only the last lines of each pod.")
    @click.option("--since", default="", metavar="SPAN", help="Only lines of the last 30s, 10m, 2h …")
    @click.option("-p", "--previous", is_flag=True, help="Of containers that were restarted, the run before.")
    @click.option("--prefix/--no-prefix", default=True, show_default=True, help="Begin lines with the pod's name.")
    @functools.wraps(command)
    def with_choice(
        *args: Any, container: str | None, tail: int | None, since: str, previous: bool, **kwargs: Any
    ) -> Any:
        from volcano.jobs.amounts import AmountError, parse_seconds
        from volcano.jobs.logs import Choice

        try:
            seconds = parse_seconds(since) if since else None
        except AmountError as error:
            raise misuse(f"--since: {error}") from error
        return command(*args, choice=Choice(container, tail, seconds, previous), **kwargs)

    return cast("F", with_choice)


@click.command()
@one_name("job name is mandatory to print the logs of a particular job")
@namespace_flag()
@log_flags
@following("follow")
async def logs(client: Client, name: str, namespace: str, follow: bool, choice: Choice, prefix: bool) -> int:
    """Print the logs of all pods of a job.

    With --follow, also of pods that start later, until the job has ended. Pods whose log cannot be read are named on
    standard error, and the exit status is 1 when none could be read. Where nothing was written, why pods failed.
    """
    return await print_logs(client, name, namespace, follow=follow, choice=choice, prefix=prefix)


async def print_logs(client: Client, name: str, namespace: str, *, follow: bool, choice: Choice, prefix: bool) -> int:
    """Print the lines; 1 when there was no log to read at all."""
    from volcano.jobs.failures import failed_pods, failure_lines
    from volcano.jobs.logs import followed, written

    await one(client, JOBS, name, namespace)
    colored = on_terminal()
    read, troubles = False, False
    async with aclosing((followed if follow else written)(client, namespace, name, choice)) as lines:
        async for line in lines:
            if line.trouble:
                troubles = True
                click.echo(f"{line.pod}: {line.text}", err=True)
            else:
                read = True
                click.echo(_shown(line, colored=colored) if prefix else line.text)
    if not read and not troubles:
        click.echo(f"job {name} has no pods that wrote anything", err=True)
    if not read:
        for text in failure_lines(await failed_pods(client, namespace, name)):
            click.echo(text, err=True)
    return NO if troubles and not read else 0


def _shown(line: Line, *, colored: bool) -> str:
    if not colored:
        return f"{line.pod}: {line.text}"
    import zlib

    color = COLORS[zlib.crc32(line.pod.encode()) % len(COLORS)]
    return f"{click.style(line.pod, fg=color)}: {line.text}"
