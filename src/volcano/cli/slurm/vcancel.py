"""vcancel: end jobs and remove them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from volcano.cli import program
from volcano.cli.connection import on_cluster
from volcano.cli.flags import many_names, namespace_flag
from volcano.cli.job import delete_jobs
from volcano.cli.slurm.slurm_options import CancellingCommand

if TYPE_CHECKING:
    from volcano.kube.client import Client


@click.command(cls=CancellingCommand, context_settings={"help_option_names": ["-h", "--help"]})
@many_names("job name is mandatory to cancel a particular job", "-n")
@namespace_flag("-N")
@on_cluster
async def vcancel(client: Client, names: tuple[str, ...], namespace: str) -> int:
    """Cancel jobs: their pods end, and the jobs are deleted."""
    return await delete_jobs(client, names, namespace, "cancel")


def main() -> None:
    program.main(vcancel, "vcancel")
