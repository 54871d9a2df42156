"""vcctl version: the API version and the version of this program."""

from __future__ import annotations

import platform

import click

from volcano import __version__


@click.command()
def version() -> None:
    """Print the version."""
    click.echo("API Version: v1alpha1")
    click.echo(f"Version: {__version__}")
    click.echo("Git SHA: not provided")
    click.echo("Built At: not provided")
    click.echo(f"Python Version: {platform.python_version()}")
    click.echo(f"Python OS/Arch: {platform.system().lower()}/{platform.machine()}")
