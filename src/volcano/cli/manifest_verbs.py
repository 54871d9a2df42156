"""create, list, get, delete and describe of a kind that is made from files: one shape for all such nouns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from volcano.api.resources import Resource
from volcano.cli.connection import on_cluster
from volcano.cli.errors import describe_api_error, fail
from volcano.cli.flags import all_namespaces_flag, many_names, namespace_flag, one_name
from volcano.cli.manifests import read
from volcano.cli.objects import listed, one
from volcano.cli.output import OutputForm, dump, output_flag, show

if TYPE_CHECKING:
    from volcano.kube.client import Client

Document = dict[str, Any]
Table = Callable[[Sequence[Document]], str]

file_flag = click.option("-f", "--file", default="", help="YAML file with any number of them; - for standard input.")


def add_verbs(
    group: click.Group, resource: Resource[Any], called: str, table: Table, wide: Table, *, state: bool = False
) -> None:
    """The verbs for `resource`, which messages call `called` ("job template"); `state`: its status has one always."""
    kind = resource.kind

    @group.command()
    @file_flag
    @on_cluster
    async def create(client: Client, file: str) -> int:
        return await each_of_file(
            file, resource, "create", lambda document, space: client.create(resource.untyped, document, space)
        )

    @group.command(name="list")
    @namespace_flag()
    @all_namespaces_flag
    @output_flag
    @on_cluster
    async def list_objects(client: Client, namespace: str, all_namespaces: bool, output: str) -> None:
        show(await listed(client, resource, namespace, all_namespaces=all_namespaces), output, table, wide)

    @group.command()
    @one_name(f"name is mandatory to get the particular {called} details")
    @namespace_flag()
    @output_flag
    @on_cluster
    async def get(client: Client, name: str, namespace: str, output: str) -> None:
        show([await one(client, resource, name, namespace)], output, table, wide, as_list=False)

    @group.command()
    @many_names("")
    @namespace_flag()
    @file_flag
    @on_cluster
    async def delete(client: Client, names: tuple[str, ...], namespace: str, file: str) -> int:
        if file:
            return await each_of_file(
                file,
                resource,
                "delete",
                lambda document, space: client.delete(resource, document["metadata"]["name"], space),
            )
        if not names:
            raise fail(f"{called} name must be specified")
        for found in [await one(client, resource, name, namespace) for name in names]:
            name = found["metadata"]["name"]
            await client.delete(resource, name, found["metadata"].get("namespace"))
            click.echo(f"Deleted {kind}: {found['metadata'].get('namespace', namespace)}/{name}")
        return 0

    @group.command()
    @one_name("")
    @namespace_flag()
    @click.option("-o", "--format", "form", type=OutputForm(("yaml", "json")), default="yaml", show_default=True)
    @on_cluster
    async def describe(client: Client, name: str, namespace: str, form: str) -> None:
        found = [await one(client, resource, name, namespace)] if name else await listed(client, resource, namespace)
        click.echo(
            "\n\n".join(dump(described(resource, each, state=state), form, indent=2) for each in found), nl=False
        )

    create.help = f"Create every {kind} of a file."
    list_objects.help = f"List {called}s."
    get.help = f"Show one {called}."
    delete.help = f"Delete a {called}, or every {kind} of a file."
    describe.help = f"Print a {called} whole; without a name, all of the namespace."


async def each_of_file(file: str, resource: Resource[Any], verb: str, act: Callable[[Document, str], Any]) -> int:
    """Do `act` with each object of the file, tell how it went, and go on; 255 when one failed."""
    from volcano.kube.errors import ApiError

    if not file:
        raise fail(f"a file must be specified with --file: there is no {resource.kind} to {verb} without one")
    status = 0
    for document in of_kind(read([file]), resource, file):
        space = document["metadata"].get("namespace") or "default"
        document["metadata"]["namespace"] = space
        try:
            await act(document, space)
        except ApiError as error:
            click.echo(f"Failed to {verb} {resource.kind}: {describe_api_error(error)}", err=True)
            status = 255
        else:
            click.echo(f"{verb.capitalize()}d {resource.kind}: {space}/{document['metadata']['name']}")
    return status


def of_kind(documents: Iterable[Document], resource: Resource[Any], file: str) -> list[Document]:
    """The documents, all of which must be of that kind and have a name."""
    found = list(documents)
    for document in found:
        if document.get("kind") != resource.kind:
            raise fail(f"{file} holds a {document.get('kind')}, not only {resource.kind}s: use vcctl apply -f")
        if not (document.get("metadata") or {}).get("name"):
            raise fail(f"{file}: a {resource.kind} has no metadata.name")
    return found


def described(resource: Resource[Any], document: Document, *, state: bool) -> Document:
    """The object in the order in which people read it, without what only the server needs."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    head = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    status = ({"state": {}} if state else {}) | (document.get("status") or {})
    return {**head, "spec": document.get("spec") or {}, "status": status}
