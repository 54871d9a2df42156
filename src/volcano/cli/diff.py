"""vcctl diff: what `vcctl apply` would change, field by field; for a tree of queues also what is not in the files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import click

from volcano.api.keys import DEFAULT_QUEUE, ROOT_QUEUE
from volcano.api.resources import QUEUES
from volcano.cli.apply import current, meant, placed
from volcano.cli.connection import on_cluster, show_warning
from volcano.cli.errors import describe_api_error
from volcano.cli.flags import file_flag, namespace_flag
from volcano.cli.manifests import read
from volcano.cli.objects import listed
from volcano.cli.queue_tree import parent_of
from volcano.cli.statuses import FAILED, NO
from volcano.cli.text import on_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

OURS_TO_KEEP = frozenset({ROOT_QUEUE, DEFAULT_QUEUE})
"""Queues that are there without any manifest."""
NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
COLORS = {"+": "green", "-": "red", "~": "yellow"}


@click.command()
@file_flag(required=True, help="Manifests; folders and - for standard input, too. May be repeated.")
@namespace_flag()
@on_cluster
async def diff(client: Client, files: Sequence[str], namespace: str) -> int:
    """Show what `vcctl apply` of the manifests would change, without changing it.

    `+` would be created as written, `~` changed (field: old -> new). `-` is a queue of the cluster that the files do
    not have, told when they have any. What the server refuses because it names another new object of the files, such
    as the queue of a job, is shown as the files say it: `vcctl apply` makes the other first. Exit status:
    0 no difference, 1 differences, 255 an object would be refused.
    """
    from volcano.kube.errors import ApiError

    objects = placed(read(files), namespace)
    befores = [await current(client, resource, document) for resource, document in objects]
    new = {document["metadata"]["name"] for (_, document), before in zip(objects, befores, strict=True) if not before}
    status = 0
    for (resource, document), before in zip(objects, befores, strict=True):
        place = f"{resource.singular}/{document['metadata']['name']}"
        after = document
        heard: list[str] = []
        client.on_warning = heard.append
        try:
            judged = await client.apply(resource.untyped, document, force=True, dry_run=True)
            after = judged if before else document
        except ApiError as error:
            if new.isdisjoint(words(_unnamed(document))) or new.isdisjoint(words(error.message)):
                click.echo(f"{place} would be refused: {describe_api_error(error)}", err=True)
                status = FAILED
                continue
            heard.clear()
            after = overlaid(before, document) if before else document
        finally:
            for text in heard:
                show_warning(text)
        changes = list(differences(meant(before) if before else {}, meant(after)))
        if changes or not before:
            _print("~" if before else "+", place)
            click.echo("".join(f"    {change}\n" for change in changes), nl=False)
            status = status or NO
    given = {document["metadata"]["name"] for resource, document in objects if resource.kind == QUEUES.kind}
    for queue in await listed(client, QUEUES, None) if given else ():
        if queue["metadata"]["name"] not in given | OURS_TO_KEEP:
            _print("-", f"queue/{queue['metadata']['name']} (below {parent_of(queue)}) is not in the files")
            status = status or NO
    return status


def _unnamed(document: JsonObject) -> JsonObject:
    return document | {"metadata": {key: value for key, value in document["metadata"].items() if key != "name"}}


def words(value: Any) -> Iterator[str]:
    """The words of all texts in a document: among them are the names of what it refers to."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from words(each)
    elif isinstance(value, str):
        yield from NAME.findall(value)


def overlaid(before: Any, said: Any) -> Any:
    """`before` with what `said` says; items of a list with the same name are one."""
    if isinstance(before, dict) and isinstance(said, dict):
        return before | {key: overlaid(before.get(key), value) for key, value in said.items()}
    if isinstance(before, list) and isinstance(said, list) and all(isinstance(one, dict) for one in (*before, *said)):
        named = _by_name(before)
        return [overlaid(named.get(one.get("name", "")), one) for one in said]
    return said


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """`field: old -> new` for every field that differs."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from differences(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
    elif before is None and isinstance(after, dict) and after:
        yield from differences({}, after, path)
    elif (new := _by_name(after)) and ((old := _by_name(before)) or before is None):
        if (kept := [name for name in old if name in new]) != (now := [name for name in new if name in old]):
            yield f"{path}, order: {_value(kept)} -> {_value(now)}"
        for name in old | new:
            yield from differences(old.get(name), new.get(name), f"{path}[{name}]")
    elif before != after:
        yield f"{path}: {_value(before)} -> {_value(after)}"


def _by_name(value: Any) -> dict[str, JsonObject]:
    """The objects of a list, where each has a name of its own; else none."""
    items = value if isinstance(value, list) else []
    named = {one["name"]: one for one in items if isinstance(one, dict) and isinstance(one.get("name"), str)}
    return named if len(named) == len(items) else {}


def _value(value: Any) -> str:
    return "(none)" if value is None else json.dumps(value, ensure_ascii=False)


def _print(sign: str, text: str) -> None:
    line = f"{sign} {text}"
    click.echo(click.style(line, fg=COLORS[sign]) if on_terminal() else line)
