"""vcctl validate: the admission rules on manifests, without a cluster. Judged by `webhooks.offline`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from volcano.cli.errors import fail
from volcano.cli.manifests import read
from volcano.cli.output import dump
from volcano.cli.statuses import NO, UNREADABLE

if TYPE_CHECKING:
    from volcano.webhooks.offline import Result
    from volcano.webhooks.rules import Settings


@click.command()
@click.option(
    "-f", "--filename", "files", multiple=True, required=True, help="Manifests to judge; - for standard input."
)
@click.option("--with", "existing", multiple=True, help="Manifests of objects that exist already.")
@click.option("-n", "--namespace", default="default", show_default=True, help="For objects that name none.")
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
@click.option("--scheduler-name", multiple=True, help="As of vc-webhook-manager; may be repeated.")
@click.option("--max-queue-depth", default=5, show_default=True, help="As of vc-webhook-manager.")
@click.option("--admission-conf", type=click.Path(path_type=Path), help="Resource-group file of vc-webhook-manager.")
def validate(
    files: Sequence[str],
    existing: Sequence[str],
    namespace: str,
    output: str,
    scheduler_name: Sequence[str],
    max_queue_depth: int,
    admission_conf: Path | None,
) -> int:
    """Say what admission would: each object allowed, with its defaults, or refused and why.

    Objects are judged in their order, as if each allowed one was created. Only objects given with -f or --with
    exist: a job's queue, too, must be among them. The queues root and default, which every installation has, are
    there as well, unless --with brings queues. Exit status: 0 all allowed, 1 one was refused, 2 unreadable input.
    """
    from volcano.api.installed import required_queues
    from volcano.webhooks.offline import UnusableObject, validate as judge

    documents = read(files)
    if not documents:
        raise fail(f"no objects in {', '.join(files)}", exit_status=UNREADABLE)
    settings = settings_of(scheduler_name, max_queue_depth, admission_conf)
    present = read(existing)
    assumed = () if any(document.get("kind") == "Queue" for document in present) else required_queues()
    try:
        results = judge(documents, present, settings, namespace=namespace, assumed=assumed)
    except UnusableObject as error:
        raise fail(f"--with: {error}", exit_status=UNREADABLE) from error
    if output == "table":
        click.echo(table(results))
    else:
        click.echo(dump({"results": [shown(result) for result in results]}, output), nl=False)
    return 0 if all(result.allowed for result in results) else NO


def settings_of(
    scheduler_names: Sequence[str], max_queue_depth: int = 5, admission_conf: Path | None = None
) -> Settings:
    from volcano.webhooks.groups import GroupsError, load
    from volcano.webhooks.rules import Settings

    try:
        groups = load(admission_conf, strict=True) if admission_conf else None
    except GroupsError as error:
        raise fail(str(error), exit_status=UNREADABLE) from error
    return Settings(
        scheduler_names=tuple(scheduler_names) or ("volcano",), max_queue_depth=max_queue_depth, resource_groups=groups
    )


def shown(result: Result) -> dict[str, Any]:
    """One result as a document."""
    causes = [{"field": cause.field, "message": cause.message, "hint": cause.hint} for cause in result.causes]
    return {
        "apiVersion": result.api_version,
        "kind": result.kind,
        "namespace": result.namespace,
        "name": result.name,
        "operation": result.operation,
        "allowed": result.allowed,
        "message": result.message,
        "causes": causes,
        "warnings": list(result.warnings),
        "object": result.object,
    }


def table(results: Sequence[Result]) -> str:
    """A line per object; below a refused one, the message, and each field with what to do."""
    names = [f"{result.kind} {'/'.join(filter(None, (result.namespace, result.name)))}" for result in results]
    width = max(map(len, names))
    lines = []
    for name, result in zip(names, results, strict=True):
        lines.append(f"{name.ljust(width)}   {'allowed' if result.allowed else 'denied'}")
        lines += [f"  {line}" for line in result.message.splitlines() if line.strip()]
        lines += [f"  - {line}" for line in dict.fromkeys(_advice(result))]
        lines += [f"  warning: {warning}" for warning in result.warnings]
    return "\n".join(lines)


def _advice(result: Result) -> Iterable[str]:
    for cause in result.causes:
        said = cause.hint or (cause.message if cause.message not in result.message else "")
        if said or cause.field not in result.message:
            yield f"{cause.field}: {said or cause.message}" if cause.field else said
