"""create, list, get, delete and describe: the verbs of every noun whose objects are made from files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from volcano.api.meta import JsonObject
from volcano.cli.connection import on_cluster
from volcano.cli.errors import describe_api_error, fail, misuse
from volcano.cli.flags import label_flag, many_names, one_name, scope_flags
from volcano.cli.lazy import SuggestingGroup
from volcano.cli.manifests import read
from volcano.cli.objects import for_each, listed, one
from volcano.cli.output import OutputForm, dump, output_flag, show
from volcano.cli.statuses import FAILED

if TYPE_CHECKING:
    from volcano.api.resources import Resource
    from volcano.kube.client import Client
Table = Callable[[Sequence[JsonObject]], str]

file_flag = click.option(
    "-f",
    "--file",
    default="",
    type=click.Path(),
    metavar="FILE",
    help="YAML file with any number of them; - for standard input.",
)


@dataclass(frozen=True)
class Noun:
    """A kind of objects, what messages call it ("job template"), and how it looks in tables."""

    resource: Resource[Any]
    called: str
    table: Table
    wide_table: Table
    empty_status: Sequence[str] = ()
    """Fields of the status that are shown even when they are empty."""

    def group(self, about: str) -> click.Group:
        """The noun's commands."""
        group = SuggestingGroup(self.resource.singular, help=about)
        for make in (_create, _list, _get, _delete, _describe):
            group.add_command(make(self))
        return group


def _create(noun: Noun) -> click.Command:
    @click.command(help=f"Create every {noun.resource.kind} of a file.")
    @file_flag
    @on_cluster
    async def create(client: Client, file: str) -> int:
        return await _each(
            noun, "create", file, lambda document, space: client.create(noun.resource.untyped, document, space)
        )

    return create


def _list(noun: Noun) -> click.Command:
    @click.command(name="list", help=f"List {noun.called}s.")
    @scope_flags(noun.resource, many=True)
    @label_flag
    @output_flag
    @on_cluster
    async def list_objects(client: Client, namespace: str, all_namespaces: bool, labels: str, output: str) -> None:
        found = await listed(client, noun.resource, namespace, all_namespaces=all_namespaces, labels=labels)
        show(found, output, noun.table, noun.wide_table)

    return list_objects


def _get(noun: Noun) -> click.Command:
    @click.command(help=f"Show one {noun.called}.")
    @one_name(f"name is mandatory to get the particular {noun.called} details")
    @scope_flags(noun.resource)
    @output_flag
    @on_cluster
    async def get(client: Client, name: str, namespace: str, output: str) -> None:
        found = await one(client, noun.resource, name, namespace)
        show([found], output, noun.table, noun.wide_table, as_list=False)

    return get


def _delete(noun: Noun) -> click.Command:
    resource = noun.resource

    @click.command(help=f"Delete {noun.called}s by name, or every {resource.kind} of a file.")
    @many_names("")
    @scope_flags(resource)
    @file_flag
    @on_cluster
    async def delete(client: Client, names: tuple[str, ...], namespace: str, file: str) -> int:
        if file:
            return await _each(
                noun,
                "delete",
                file,
                lambda document, space: client.delete(resource, document["metadata"]["name"], space),
            )
        if not names:
            raise fail(f"{noun.called} name must be specified")

        async def delete_one(name: str) -> None:
            metadata = (found := await one(client, resource, name, namespace))["metadata"]
            await client.delete(resource, metadata["name"], metadata.get("namespace"))
            click.echo(f"Deleted {resource.kind}: {_place(resource, found)}")

        return await for_each(names, delete_one)

    return delete


def _describe(noun: Noun) -> click.Command:
    @click.command(help=f"Print a {noun.called} whole; without a name, all there are.")
    @one_name("")
    @scope_flags(noun.resource)
    @click.option("-o", "--format", "form", type=OutputForm(("yaml", "json")), default="yaml", show_default=True)
    @on_cluster
    async def describe(client: Client, name: str, namespace: str, form: str) -> None:
        found = (
            [await one(client, noun.resource, name, namespace)]
            if name
            else await listed(client, noun.resource, namespace)
        )
        click.echo("\n\n".join(dump(_whole(noun, each), form, indent=2) for each in found), nl=False)

    return describe


async def _each(noun: Noun, verb: str, file: str, act: Callable[[JsonObject, str | None], Awaitable[object]]) -> int:
    """Do `act` with each object of the file, tell how it went, and go on; fails when one failed."""
    from volcano.kube.errors import ApiError

    kind, status = noun.resource.kind, 0
    if not file:
        raise misuse(f"name a file with --file: there is no {kind} to {verb} without one")
    for document in _of_kind(noun.resource, file):
        metadata = document["metadata"]
        if noun.resource.namespaced:
            metadata["namespace"] = metadata.get("namespace") or "default"
        try:
            await act(document, metadata.get("namespace"))
        except ApiError as error:
            click.echo(f"Failed to {verb} {kind}: {describe_api_error(error)}", err=True)
            status = FAILED
        else:
            click.echo(f"{verb.capitalize()}d {kind}: {_place(noun.resource, document)}")
    return status


def _of_kind(resource: Resource[Any], file: str) -> list[JsonObject]:
    """The documents of the file, all of which must be of that kind and have a name."""
    found = read([file])
    for document in found:
        if document.get("kind") != resource.kind:
            raise fail(f"{file} holds a {document.get('kind')}, not only {resource.kind}s: use vcctl apply -f")
        if not (document.get("metadata") or {}).get("name"):
            raise fail(f"{file}: a {resource.kind} has no metadata.name")
    return found


def _place(resource: Resource[Any], document: JsonObject) -> str:
    metadata = document["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}" if resource.namespaced else str(metadata["name"])


def _whole(noun: Noun, document: JsonObject) -> JsonObject:
    """The object in the order in which people read it, without what only the server needs."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    head = {"kind": noun.resource.kind, "apiVersion": noun.resource.api_version, "metadata": metadata}
    status = {field: {} for field in noun.empty_status} | (document.get("status") or {})
    return {**head, "spec": document.get("spec") or {}, "status": status}
