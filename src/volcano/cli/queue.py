"""vcctl queue: list, get, tree, create, delete, operate."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from volcano.api.resources import PODGROUPS, QUEUES
from volcano.cli.connection import on_cluster
from volcano.cli.errors import fail
from volcano.cli.flags import many_names, one_name
from volcano.cli.lazy import SuggestingGroup
from volcano.cli.objects import for_each, listed, one, remove
from volcano.cli.output import document_flag, dump, output_flag, show
from volcano.cli.queue_table import count_phases, table, wide_table
from volcano.jobs.control import send_command

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

COMMANDS = {"open": "OpenQueue", "close": "CloseQueue"}


@click.group(cls=SuggestingGroup)
def queue() -> None:
    """List, create, operate and delete queues."""


@queue.command(name="list")
@output_flag
@on_cluster
async def list_queues(client: Client, output: str) -> None:
    """List queues with the phases of their podgroups."""
    await show_queues(client, await listed(client, QUEUES, None), output)


@queue.command()
@one_name("name is mandatory to get the particular queue details", "-n")
@output_flag
@on_cluster
async def get(client: Client, name: str, output: str) -> None:
    """Show one queue."""
    await show_queues(client, [await one(client, QUEUES, name)], output, as_list=False)


async def show_queues(
    client: Client, queues: list[JsonObject], output: str, *, as_list: bool = True, slurm: bool = False
) -> None:
    """The queues with the numbers of their podgroups."""
    podgroups = (await client.list(PODGROUPS.untyped)).items if queues else []
    counts = count_phases(podgroups)
    show(
        queues, output, partial(table, counts=counts, slurm=slurm), partial(wide_table, counts=counts), as_list=as_list
    )


@queue.command()
@one_name("", "-n")
@document_flag("table", "json", "yaml")
@on_cluster
async def tree(client: Client, name: str, output: str) -> None:
    """Show the queues as the tree they form, with their shares; of one queue, what is below it."""
    from volcano.cli.queue_tree import branch, document, drawn

    queues = await listed(client, QUEUES, None)
    podgroups = (await client.list(PODGROUPS.untyped)).items
    if name:
        await one(client, QUEUES, name)
    found = branch(queues, count_phases(podgroups), name)
    click.echo(drawn(found) if output == "table" else dump([document(each) for each in found], output), nl=False)


@queue.command()
@one_name("", "-n")
@click.option("-w", "--weight", default=1, show_default=True, help="Its share relative to other queues.")
@click.option("-S", "--state", default="Open", show_default=True, type=click.Choice(["Open", "Closed"]))
@click.option("-p", "--parent", default="", help="Queue above it; root by default.")
@on_cluster
async def create(client: Client, name: str, weight: int, state: str, parent: str) -> None:
    """Create a queue (named "test" when no name is given)."""
    document = {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": name or "test"},
        "spec": {"weight": weight} | ({"parent": parent} if parent else {}),
        "status": {"state": state},
    }
    created = await client.create(QUEUES.untyped, document)
    if state == "Closed":  # the API drops a new object's status: a state other than Open needs a command
        await send_command(client, QUEUES, created, COMMANDS["close"], "default")


@queue.command()
@many_names("queue name must be specified", "-n")
@on_cluster
async def delete(client: Client, names: tuple[str, ...]) -> int:
    """Delete a queue."""
    return await for_each(names, lambda name: remove(client, QUEUES, name))


@queue.command()
@one_name("queue name must be specified", "-n")
@click.option("-w", "--weight", default=0, help="New weight, with --action update.")
@click.option("-a", "--action", default="", help="open, close or update.")
@on_cluster
async def operate(client: Client, name: str, weight: int, action: str) -> None:
    """Open or close a queue, or change its weight."""
    if action == "update" and weight <= 0:
        raise fail(f"when update queue {name}, weight must be specified, the value must be greater than 0")
    if not action:
        raise fail("action can not be null")
    if action == "update":
        await client.patch(QUEUES, name, {"spec": {"weight": weight}})
    elif action in COMMANDS:
        await send_command(client, QUEUES, await one(client, QUEUES, name), COMMANDS[action], "default")
    else:
        raise fail(f"action {action} invalid, valid actions are open, close and update")
