"""vcctl completion: the script that makes a shell complete vcctl's commands and flags."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from volcano.cli.errors import fail


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script; for example: source <(vcctl completion bash)."""
    from volcano.cli.main import vcctl

    script = get_completion_class(shell)
    if script is None:
        raise fail(f"no completion for shell {shell!r}")
    click.echo(script(vcctl, {}, "vcctl", "_VCCTL_COMPLETE").source())
