"""vcctl top: what queues and jobs hold of the cluster now; live on a terminal, once elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from volcano.api import quantity
from volcano.api.keys import JOB_NAME
from volcano.api.resources import JOBS, POD_METRICS, PODGROUPS, PODS, QUEUES
from volcano.cli.cells import age_of
from volcano.cli.connection import on_cluster
from volcano.cli.flags import all_namespaces_flag, namespace_flag, queue_flag
from volcano.cli.objects import listed
from volcano.cli.output import document_flag, dump
from volcano.cli.queue_table import count_phases
from volcano.cli.text import columns, on_terminal
from volcano.jobs.phases import FINISHED, phase_of
from volcano.jobs.podgroups import why_of
from volcano.jobs.usage import Holding, by_job, used_by_pods
from volcano.jobs.watching import key_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

WHAT = ("all", "queues", "jobs")


class Row(NamedTuple):
    """A line: its cells by title, and how pressing it is."""

    cells: dict[str, object]
    style: str = ""


@click.command()
@click.argument("what", type=click.Choice(WHAT), default="all")
@namespace_flag()
@all_namespaces_flag
@queue_flag
@click.option("--finished", is_flag=True, help="Finished jobs, too.")
@click.option("--interval", default=2.0, show_default=True, type=click.FloatRange(0.2), help="Seconds between looks.")
@click.option("--once", is_flag=True, help="Look once, on a terminal too.")
@document_flag("table", "json", "yaml")
@on_cluster
async def top(
    client: Client,
    what: str,
    namespace: str,
    all_namespaces: bool,
    queue: str,
    finished: bool,
    interval: float,
    once: bool,
    output: str,
) -> None:
    """Show what queues and jobs hold and use of the cluster, and why jobs wait.

    On a terminal the tables are drawn again and again until Ctrl-C; elsewhere once.
    """
    space = None if all_namespaces else namespace

    async def look() -> dict[str, list[Row]]:
        tables = {}
        if what != "jobs":
            tables["queues"] = await _queues(client, queue)
        if what != "queues":
            tables["jobs"] = await _jobs(client, space, queue, finished=finished)
        return tables

    if output != "table":
        found = {name: [row.cells for row in rows] for name, rows in (await look()).items()}
        click.echo(dump(found, output), nl=False)
    elif once or not on_terminal():
        click.echo("\n\n".join(_plain(rows) for rows in (await look()).values()))
    else:
        from rich.live import Live

        from volcano.kube.pause import pause

        with Live(screen=True, auto_refresh=False) as live:
            while True:
                live.update(_drawn(await look()), refresh=True)
                await pause(interval)


async def _queues(client: Client, only: str) -> list[Row]:
    queues = [each for each in await listed(client, QUEUES, None) if only in ("", each["metadata"]["name"])]
    counts = count_phases((await client.list(PODGROUPS.untyped)).items)
    rows = []
    for each in sorted(queues, key=lambda one: str(one["metadata"]["name"])):
        name, spec, status = each["metadata"]["name"], each.get("spec") or {}, each.get("status") or {}
        phases: Mapping[str, int] = counts.get(name, {})
        allocated = status.get("allocated") or {}
        waiting = phases.get("Pending", 0) + phases.get("Inqueue", 0)
        cells: dict[str, object] = {
            "Queue": name,
            "State": status.get("state", ""),
            "Weight": spec.get("weight", 0),
            "Running": phases.get("Running", 0),
            "Waiting": waiting,
        }
        for resource in ("cpu", "memory"):
            cells[resource.capitalize()] = _amount(resource, allocated.get(resource, 0))
            cells[f"{resource.capitalize()} limit"] = _amount(resource, (spec.get("capability") or {}).get(resource))
        rows.append(Row(cells, "yellow" if waiting else ""))
    return rows


async def _jobs(client: Client, namespace: str | None, queue: str, *, finished: bool) -> list[Row]:
    jobs = [
        each
        for each in await listed(client, JOBS, namespace)
        if (finished or phase_of(each) not in FINISHED) and queue in ("", (each.get("spec") or {}).get("queue", ""))
    ]
    pods = (await client.list(PODS.untyped, namespace, JOB_NAME)).items
    holdings = by_job(pods, used_by_pods(await _metrics(client, namespace)))
    groups = {key_of(group): group for group in await listed(client, PODGROUPS, namespace)}
    rows = [_job_row(each, holdings.get(key_of(each), Holding()), groups) for each in jobs]
    return sorted(rows, key=lambda row: (-int(str(row.cells["Cpu"]).removesuffix("m")), str(row.cells["Job"])))


def _job_row(job: JsonObject, holding: Holding, groups: Mapping[tuple[str, str], JsonObject]) -> Row:
    reason = why_of(job, groups, unplaced=holding.unplaced).reason
    spec, metadata = job.get("spec") or {}, job["metadata"]
    replicas = sum(task.get("replicas", 0) for task in spec.get("tasks") or ())
    cells: dict[str, object] = {
        "Namespace": metadata.get("namespace", ""),
        "Job": metadata["name"],
        "Queue": spec.get("queue", ""),
        "Phase": phase_of(job),
        "Pods": f"{holding.pods['Running']}/{replicas}",
        "Cpu": f"{holding.milli_cpu}m",
        "Cpu used": "-" if holding.used_milli_cpu is None else f"{holding.used_milli_cpu}m",
        "Memory": _mebibytes(holding.memory_bytes),
        "Memory used": "-" if holding.used_memory_bytes is None else _mebibytes(holding.used_memory_bytes),
        "Age": age_of(job),
        "Reason": reason,
    }
    return Row(cells, "yellow" if reason else "")


async def _metrics(client: Client, namespace: str | None) -> Sequence[JsonObject]:
    """What pods use; nothing where the cluster does not measure it."""
    from volcano.kube.errors import ApiError

    try:
        return (await client.list(POD_METRICS, namespace, limit=0)).items
    except ApiError:
        return ()


def _amount(resource: str, value: Any) -> str:
    if value is None:
        return "-"
    return f"{quantity.milli(value)}m" if resource == "cpu" else _mebibytes(quantity.units(value))


def _mebibytes(count: int) -> str:
    return f"{count // 2**20}Mi"


def _plain(rows: Sequence[Row]) -> str:
    if not rows:
        return "No resources found"
    return columns([title.upper() for title in rows[0].cells], [list(row.cells.values()) for row in rows])


def _drawn(tables: dict[str, list[Row]]) -> Any:
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    drawn: list[Any] = []
    for name, rows in tables.items():
        titles = rows[0].cells if rows else (name.capitalize(),)
        grid = Table(*titles, title=f"{len(rows)} {name}", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for row in rows:
            grid.add_row(*(Text(str(value)) for value in row.cells.values()), style=row.style)
        drawn.append(grid)
    return Group(*drawn)
