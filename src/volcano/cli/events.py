"""vcctl events: what happened to a job with its podgroup and pods, to another object, or in a namespace."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

import click

from volcano.api.resources import EVENTS
from volcano.cli.cells import since
from volcano.cli.completing import targets
from volcano.cli.connection import following
from volcano.cli.flags import all_namespaces_flag, namespace_flag
from volcano.cli.kinds import resource_and_name
from volcano.cli.objects import listed
from volcano.cli.output import output_flag, show
from volcano.cli.text import columns
from volcano.jobs.events import about, count, in_order, last_seen
from volcano.jobs.watching import snapshots

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

HEADER = ("Last Seen", "Type", "Reason", "Object", "Message")


@click.command()
@click.argument("target", metavar="[JOB|KIND/NAME]", default="", shell_complete=targets)
@namespace_flag()
@all_namespaces_flag
@click.option("--type", "type_", default="", help="Only events of this type: Normal or Warning.")
@click.option("-w", "--watch", is_flag=True, help="Keep printing events as they happen.")
@output_flag
@following("watch")
async def events(
    client: Client, target: str, namespace: str, all_namespaces: bool, type_: str, watch: bool, output: str
) -> None:
    """Show what happened, the newest last: to a job with its podgroup and pods, to another object, or to all."""
    resource, name = resource_and_name(target) if target else (None, "")
    if resource is not None and not resource.namespaced:
        namespace = "default"  # where events about objects without a namespace are kept

    def chosen(found: Iterable[JsonObject]) -> list[JsonObject]:
        return in_order(
            event
            for event in found
            if (not type_ or event.get("type", "").lower() == type_.lower())
            and (resource is None or about(event, resource.kind, name))
        )

    if not watch:
        found = await listed(client, EVENTS, namespace, all_namespaces=all_namespaces)
        show(chosen(found), output, table, wide_table)
        return
    seen: dict[str, int] = {}
    async with aclosing(snapshots(client, EVENTS, None if all_namespaces else namespace)) as stream:
        async for current in stream:
            for event in chosen(current.values()):
                uid, times = event["metadata"]["uid"], count(event)
                if seen.get(uid, 0) < times:
                    seen[uid] = times
                    click.echo("  ".join(map(str, _row(event))))


def table(found: Sequence[JsonObject]) -> str:
    return columns(HEADER, [_row(event) for event in found])


def wide_table(found: Sequence[JsonObject]) -> str:
    """With the namespace, who says it, how often it happened, and since when."""
    rows = []
    for event in found:
        source = (event.get("source") or {}).get("component") or event.get("reportingComponent", "")
        first = since(event.get("firstTimestamp") or last_seen(event))
        rows.append([event["metadata"].get("namespace", ""), *_row(event), source, count(event), first])
    return columns(("Namespace", *HEADER, "From", "Count", "First Seen"), rows)


def _row(event: JsonObject) -> list[object]:
    target = event.get("involvedObject") or {}
    place = f"{target.get('kind', '').lower()}/{target.get('name', '')}"
    message = " ".join(event.get("message", "").split())
    return [since(last_seen(event)), event.get("type", ""), event.get("reason", ""), place, message]
