"""vcctl config: the scheduler's configuration, looked at before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from volcano.cli.errors import fail
from volcano.cli.lazy import SuggestingGroup
from volcano.cli.manifests import name_of, read_text
from volcano.cli.output import document_flag, dump
from volcano.cli.statuses import NO, UNREADABLE

if TYPE_CHECKING:
    from volcano.scheduler.framework.registry import Registry


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
    from volcano.scheduler.framework import registry as registries

    try:
        registry = registries.installed(registries.built_in())
        if plugins_dir:
            registry = registries.from_directory(registry, Path(plugins_dir))
        found = {name: _remarks(name, text, registry) for file in files for name, text in _confs(file)}
    except registries.RegistryError as error:
        raise fail(f"--plugins-dir {plugins_dir}: {error}", exit_status=UNREADABLE) from error
    if output == "text":
        for name, remarks in found.items():
            click.echo("\n".join(f"{name}: {remark}" for remark in remarks) or f"{name}: nothing to remark")
    else:
        click.echo(dump(found, output), nl=False)
    return NO if any(found.values()) else 0


def _remarks(name: str, text: str, registry: Registry) -> list[str]:
    from volcano.scheduler.framework import lint as linter
    from volcano.scheduler.framework.conf import ConfError

    try:
        return linter.warnings(text, registry)
    except ConfError as error:
        raise fail(f"{name}: {error}", exit_status=UNREADABLE) from error


def _confs(file: str) -> Iterator[tuple[str, str]]:
    """The configurations in a file, each with what to call it."""
    from volcano.kube.manifests import ManifestError, load

    name, text = name_of(file), read_text(file)
    try:
        objects = load(text, name)
    except ManifestError as error:
        if _is_meant_as_manifest(text):
            raise fail(str(error), exit_status=UNREADABLE) from error
        yield name, text
        return
    if not objects:
        raise fail(f"{name}: the file is empty", exit_status=UNREADABLE)
    maps = [each for each in objects if each["kind"] == "ConfigMap"]
    if not maps:
        kind = objects[0]["kind"]
        article = "an" if kind[0] in "AEIO" else "a"
        raise fail(f"{name}: this is {article} {kind}, not a scheduler configuration", exit_status=UNREADABLE)
    keyed = [(key, value) for each in maps for key, value in (each.get("data") or {}).items() if key.endswith(".conf")]
    if not keyed:
        raise fail(f"{name}: the ConfigMap has no key that ends with .conf", exit_status=UNREADABLE)
    for key, value in keyed:
        if not isinstance(value, str) or not value.strip():
            missing = "it is not text: write `|` after the key" if value else "it is empty"
            raise fail(f"{name}: {key}: {missing}", exit_status=UNREADABLE)
        yield f"{name}: {key}", value


def _is_meant_as_manifest(text: str) -> bool:
    """It has what a configuration never has; a text that cannot be read at all may be either."""
    import yaml

    from volcano.api import yaml_text

    try:
        document = yaml_text.read(text)[0]
    except (yaml.YAMLError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and not document.keys().isdisjoint(("apiVersion", "kind"))
