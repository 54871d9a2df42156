"""vcctl policies: the admission rules as objects that the API server applies by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from volcano.cli.output import dump
from volcano.cli.validate import settings_of


@click.command()
@click.option("--kind", type=click.Choice(["all", "validating", "mutating"]), default="all", show_default=True)
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@click.option("--scheduler-name", multiple=True, help="As of vc-webhook-manager; may be repeated.")
@click.option("--admission-conf", type=click.Path(path_type=Path), help="Resource-group file of vc-webhook-manager.")
def policies(kind: str, output: str, scheduler_name: Sequence[str], admission_conf: Path | None) -> None:
    """Print Validating- and MutatingAdmissionPolicies with their bindings, to be applied with kubectl.

    For clusters without our webhooks. They cover what one object says by itself: not the states of queues, nor cycles
    of dependencies, nor pod templates.
    """
    from volcano.webhooks.policies import mutating_policies, validating_policies

    settings = settings_of(scheduler_name, admission_conf=admission_conf)
    items = [
        *(validating_policies(settings) if kind != "mutating" else ()),
        *(mutating_policies(settings) if kind != "validating" else ()),
    ]
    click.echo(dump({"apiVersion": "v1", "kind": "List", "items": items}, output), nl=False)
