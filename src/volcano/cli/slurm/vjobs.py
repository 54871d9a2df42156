"""vjobs: the jobs with why they wait, or one job in full."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from volcano.api import phases
from volcano.api.resources import JOBS
from volcano.cli import program
from volcano.cli.connection import on_cluster
from volcano.cli.flags import all_namespaces_flag, label_flag, namespace_flag, one_name, queue_flag
from volcano.cli.job import chosen_jobs, told
from volcano.cli.job_table import table, whys, wide_table
from volcano.cli.objects import listed, one
from volcano.cli.output import output_flag, print_documents, show
from volcano.cli.slurm.slurm_options import ListingCommand, phases_of

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client


@click.command(cls=ListingCommand, context_settings={"help_option_names": ["-h", "--help"]})
@one_name("", "-n")
@namespace_flag("-N")
@all_namespaces_flag
@click.option("-S", "--scheduler", default="", help="Only jobs of this scheduler.")
@queue_flag
@click.option(
    "-t",
    "--states",
    default="",
    callback=phases_of,
    help="Only jobs in these states, such as Running,Pending or R,PD.",
)
@click.option("--selector", default="", help="Only jobs whose name contains this text.")
@label_flag
@output_flag
@on_cluster
async def vjobs(
    client: Client,
    name: str,
    namespace: str,
    all_namespaces: bool,
    scheduler: str,
    queue: str,
    states: frozenset[str],
    selector: str,
    labels: str,
    output: str,
) -> None:
    """List jobs with the reason why each waits or has failed; with a name, show that job."""
    if name:
        found = await one(client, JOBS, name, namespace)
        if output == "table":
            click.echo(await told(client, found, namespace, conditions=False), nl=False)
        elif output == "wide":
            click.echo(wide_table([found], await whys(client, [found], namespace)))
        else:
            print_documents([found], output, as_list=False)
        return
    jobs = await listed(client, JOBS, namespace, all_namespaces=all_namespaces, labels=labels)
    chosen = chosen_jobs(jobs, name_part=selector, queue=queue, scheduler=scheduler)
    chosen = [job for job in chosen if not states or phase_of(job) in states]
    why = await whys(client, chosen, None if all_namespaces else namespace)
    draw = partial(table, all_namespaces=all_namespaces, reason=lambda job: why(job).reason)
    show(chosen, output, draw, partial(wide_table, why=why), headed=bool(jobs))


def phase_of(job: JsonObject) -> str:
    """Its phase; Pending before anybody has seen it."""
    return str(((job.get("status") or {}).get("state") or {}).get("phase") or phases.PENDING)


def main() -> None:
    program.main(vjobs, "vjobs")
