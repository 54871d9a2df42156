"""vcctl doctor: look at a cluster and say what does not work, and what to do about it."""

from __future__ import annotations

import dataclasses
import datetime
from typing import TYPE_CHECKING

import click

from volcano.cli.connection import following
from volcano.cli.output import dump

if TYPE_CHECKING:
    from volcano.kube.client import Client


@click.command()
@click.option("--namespace", "-n", default="volcano-system", show_default=True, help="Where Volcano is installed.")
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@following()
async def doctor(client: Client, namespace: str, output: str) -> int:
    """Check API server, CRDs, webhooks, certificates, daemons, queues and the scheduler's configuration.

    Nothing is changed: one job is sent as a dry run. Exit status 1 when something does not work.
    """
    from volcano.doctor import examine
    from volcano.doctor.facts import gather
    from volcano.doctor.findings import Severity

    findings = list(examine(await gather(client, namespace, datetime.datetime.now(datetime.UTC))))
    if output == "text":
        for finding in findings:
            click.echo(f"{finding.severity}: {finding.subject} {finding.problem}\n  {finding.remedy}")
        click.echo("nothing found" if not findings else f"{len(findings)} found")
    else:
        click.echo(dump({"findings": [dataclasses.asdict(finding) for finding in findings]}, output), nl=False)
    return int(any(finding.severity is Severity.ERROR for finding in findings))
