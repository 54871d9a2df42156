"""vcctl config: the scheduler's configuration, looked at before it is used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from volcano.cli.errors import fail
from volcano.cli.lazy import SuggestingGroup
from volcano.cli.output import document_flag, dump
from volcano.cli.statuses import NO, UNREADABLE


@click.group(cls=SuggestingGroup)
def config() -> None:
    """Check the scheduler's configuration."""


@config.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--plugins-dir",
    default=None,
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="Folder of own plugins, as of vc-scheduler.",
)
@document_flag("text", "json", "yaml")
def lint(files: tuple[str, ...], plugins_dir: str | None, output: str) -> int:
    """Say what in a configuration is wrong, has no effect or is probably not meant.

    A FILE holds the scheduler's configuration, or a ConfigMap with one; - is standard input. Exit status: 0 nothing
    to remark, 1 there are remarks, 2 the scheduler would refuse it.
    """
    from volcano.scheduler.framework import lint as linter, registry as registries
    from volcano.scheduler.framework.conf import ConfError

    try:
        registry = registries.installed(registries.built_in())
        if plugins_dir:
            registry = registries.from_directory(registry, Path(plugins_dir))
        found = {name: linter.warnings(text, registry) for file in files for name, text in _confs(file)}
    except registries.RegistryError as error:
        raise fail(f"--plugins-dir {plugins_dir}: {error}", exit_status=UNREADABLE) from error
    except ConfError as error:
        raise fail(str(error), exit_status=UNREADABLE) from error
    if output == "text":
        for name, remarks in found.items():
            click.echo("\n".join(f"{name}: {remark}" for remark in remarks) or f"{name}: nothing to remark")
    else:
        click.echo(dump(found, output), nl=False)
    return NO if any(found.values()) else 0


def _confs(file: str) -> Iterator[tuple[str, str]]:
    """The configurations in a file, each with what to call it."""
    from volcano.kube.manifests import ManifestError, load

    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise fail(f"{file}: {getattr(error, 'strerror', error)}", exit_status=UNREADABLE) from error
    try:
        maps = [each for each in load(text, file) if each["kind"] == "ConfigMap"]
    except ManifestError:
        maps = []
    keyed = [(key, value) for each in maps for key, value in (each.get("data") or {}).items() if key.endswith(".conf")]
    yield from ((f"{file}: {key}", value) for key, value in keyed)
    if not keyed:
        yield file, text
