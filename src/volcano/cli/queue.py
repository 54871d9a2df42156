"""vcctl queue: list, get, create, delete, operate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click

from volcano.cli.connection import connected, connection_flags, name_argument, run_async
from volcano.cli.errors import fail
from volcano.cli.text import OUTPUT_FORMATS, columns, padded_row, print_documents

Document = dict[str, Any]

_PHASES = ("Inqueue", "Pending", "Running", "Unknown", "Completed")
_HEADER = ("Name", "Weight", "State", "Parent", *_PHASES)
_WIDTHS = (25, *(8 for _ in _HEADER[1:]))


@click.group()
def queue() -> None:
    """List, create, operate and delete queues."""


def queue_flags(command: Any) -> Any:
    """The flag that names one queue, and NAME as a positional."""
    return name_argument(connection_flags(click.option("-n", "--name", default="", help="Name of the queue.")(command)))


def output_flag(command: Any) -> Any:
    return click.option(
        "-o", "--output", type=click.Choice(OUTPUT_FORMATS), default=None, help="Another form of output."
    )(command)


@queue.command(name="list")
@connection_flags
@output_flag
def list_queues(output: str | None, master: str, kubeconfig: str) -> None:
    """List queues with the phases of their podgroups."""
    queues, counts = run_async(_read("", master, kubeconfig))
    if queues:
        _show(queues, counts, output, as_list=True)
    elif output in ("json", "yaml", "name"):
        print_documents([], output, as_list=True)
    else:
        click.echo("No resources found")


@queue.command()
@queue_flags
@output_flag
def get(name: str, output: str | None, master: str, kubeconfig: str) -> None:
    """Show one queue."""
    if not name:
        raise fail("name is mandatory to get the particular queue details")
    _show(*run_async(_read(name, master, kubeconfig)), output, as_list=False)


async def _read(name: str, master: str, kubeconfig: str) -> tuple[list[Document], Mapping[str, Counter[str]]]:
    from volcano.api.resources import PODGROUPS, QUEUES

    async with connected(master, kubeconfig) as client:
        if name:
            queues = [await client.get(QUEUES.untyped, name)]
        else:
            queues = list((await client.list(QUEUES.untyped)).items)
        if not queues:
            return [], {}
        podgroups = await client.list(PODGROUPS.untyped)
        return queues, count_phases(podgroups.items)


def count_phases(podgroups: Sequence[Document]) -> dict[str, Counter[str]]:
    """By queue, how many podgroups are in each phase; a podgroup without a phase is Pending."""
    counts: dict[str, Counter[str]] = {}
    for podgroup in podgroups:
        phase = (podgroup.get("status") or {}).get("phase", "")
        counts.setdefault((podgroup.get("spec") or {}).get("queue", ""), Counter())[phase] += 1
    return counts


def _show(queues: Sequence[Document], counts: Mapping[str, Counter[str]], output: str | None, *, as_list: bool) -> None:
    if output in ("json", "yaml", "name"):
        print_documents(queues, output, as_list=as_list)
    elif output == "wide":
        click.echo(wide_table(queues, counts))
    else:
        click.echo(table(queues, counts), nl=False)


def _row(document: Document, counts: Mapping[str, Counter[str]]) -> list[object]:
    name, spec = document["metadata"]["name"], document.get("spec") or {}
    phases = counts.get(name, Counter())
    state = (document.get("status") or {}).get("state", "")
    return [name, spec.get("weight", 0), state, spec.get("parent", ""), *(phases[phase] for phase in _PHASES)]


def table(queues: Sequence[Document], counts: Mapping[str, Counter[str]]) -> str:
    """The table of `queue list`, padded as upstream pads it."""
    rows = [padded_row(_row(document, counts), _WIDTHS) for document in queues]
    return "\n".join([padded_row(_HEADER, _WIDTHS).rstrip(), *rows]) + "\n"


def wide_table(queues: Sequence[Document], counts: Mapping[str, Counter[str]]) -> str:
    """The table of `queue list -o wide`: with what the queue may use, deserves and uses."""
    rows = []
    for document in queues:
        spec, status = document.get("spec") or {}, document.get("status") or {}
        amounts = (spec.get("capability"), spec.get("deserved"), status.get("allocated"))
        rows.append([*_row(document, counts), *(_amounts(amount) for amount in amounts)])
    return columns([*_HEADER, "Capability", "Deserved", "Allocated"], rows)


def _amounts(amounts: Mapping[str, object] | None) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted((amounts or {}).items())) or "-"


@queue.command()
@queue_flags
@click.option("-w", "--weight", default=1, show_default=True, help="Its share relative to other queues.")
@click.option("-S", "--state", default="Open", show_default=True, type=click.Choice(["Open", "Closed"]))
def create(name: str, weight: int, state: str, master: str, kubeconfig: str) -> None:
    """Create a queue (named "test" when no name is given)."""
    run_async(_create(name or "test", weight, state, master, kubeconfig))


async def _create(name: str, weight: int, state: str, master: str, kubeconfig: str) -> None:
    from volcano.api.resources import QUEUES
    from volcano.cli.commands import send_command

    document = {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": name},
        "spec": {"weight": weight},
        "status": {"state": state},
    }
    async with connected(master, kubeconfig) as client:
        created = await client.create(QUEUES.untyped, document)
        if state == "Closed":  # the API drops a new object's status: a state other than Open needs a command
            await send_command(client, QUEUES, created, "CloseQueue", "default")


@queue.command()
@queue_flags
def delete(name: str, master: str, kubeconfig: str) -> None:
    """Delete a queue."""
    if not name:
        raise fail("queue name must be specified")
    run_async(_delete(name, master, kubeconfig))


async def _delete(name: str, master: str, kubeconfig: str) -> None:
    from volcano.api.resources import QUEUES

    async with connected(master, kubeconfig) as client:
        await client.delete(QUEUES, name)


@queue.command()
@queue_flags
@click.option("-w", "--weight", default=0, help="New weight, with --action update.")
@click.option("-a", "--action", default="", help="open, close or update.")
def operate(name: str, weight: int, action: str, master: str, kubeconfig: str) -> None:
    """Open or close a queue, or change its weight."""
    if not name:
        raise fail("queue name must be specified")
    if action == "update" and weight <= 0:
        raise fail(f"when update queue {name}, weight must be specified, the value must be greater than 0")
    if not action:
        raise fail("action can not be null")
    if action not in ("open", "close", "update"):
        raise fail(f"action {action} invalid, valid actions are open, close and update")
    run_async(_operate(name, action, weight, master, kubeconfig))


async def _operate(name: str, action: str, weight: int, master: str, kubeconfig: str) -> None:
    from volcano.api.resources import QUEUES
    from volcano.cli.commands import send_command

    async with connected(master, kubeconfig) as client:
        if action == "update":
            await client.patch(QUEUES, name, {"spec": {"weight": weight}})
            return
        target = await client.get(QUEUES.untyped, name)
        await send_command(client, QUEUES, target, {"open": "OpenQueue", "close": "CloseQueue"}[action], "default")
