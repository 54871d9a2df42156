"""vcctl completion: the scripts that make a shell complete commands, flags and names of objects."""

from __future__ import annotations

import importlib

import click
from click.shell_completion import get_completion_class

from volcano.cli.errors import fail
from volcano.cli.slurm import PROGRAMS


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print completion scripts for vcctl and the v* commands.

    Names of objects are asked of the cluster. For example: source <(vcctl completion bash)
    """
    from volcano.cli.main import vcctl

    script = get_completion_class(shell)
    if script is None:
        raise fail(f"no completion for shell {shell!r}")
    commands: dict[str, click.Command] = {"vcctl": vcctl}
    for name in PROGRAMS:
        commands[name] = getattr(importlib.import_module(f"volcano.cli.slurm.{name}"), name)
    for name, command in commands.items():
        click.echo(script(command, {}, name, f"_{name.upper()}_COMPLETE").source())
