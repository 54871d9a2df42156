"""vqueues: the queues, with the numbers of podgroups in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from volcano.api.resources import QUEUES
from volcano.cli import program
from volcano.cli.connection import on_cluster
from volcano.cli.flags import one_name
from volcano.cli.objects import listed, one
from volcano.cli.output import output_flag
from volcano.cli.queue import show_queues

if TYPE_CHECKING:
    from volcano.kube.client import Client


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@one_name("", "-n")
@output_flag
@on_cluster
async def vqueues(client: Client, name: str, output: str) -> None:
    """List the queues, or one of them."""
    queues = [await one(client, QUEUES, name)] if name else await listed(client, QUEUES, None)
    await show_queues(client, queues, output, as_list=not name, slurm=True)


def main() -> None:
    program.main(vqueues, "vqueues")
