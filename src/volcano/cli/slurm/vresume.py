"""vresume: resume jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from volcano.cli import program
from volcano.cli.connection import on_cluster
from volcano.cli.flags import many_names, namespace_flag
from volcano.cli.job import command_jobs

if TYPE_CHECKING:
    from volcano.kube.client import Client


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@many_names("job name is mandatory to resume a particular job", "-n")
@namespace_flag("-N")
@on_cluster
async def vresume(client: Client, names: tuple[str, ...], namespace: str) -> int:
    """Resume suspended jobs."""
    return await command_jobs(client, "ResumeJob", names, namespace)


def main() -> None:
    program.main(vresume, "vresume")
