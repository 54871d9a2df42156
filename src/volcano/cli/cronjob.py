"""vcctl cronjob: jobs on a schedule."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from volcano.api.resources import CRON_JOBS, JOBS
from volcano.cli.cells import age_of, name_and_namespace, since
from volcano.cli.connection import on_cluster
from volcano.cli.flags import many_names, namespace_flag, one_name
from volcano.cli.objects import for_each, one
from volcano.cli.text import columns
from volcano.cli.verbs import Noun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

HEADER = ("Name", "Namespace", "Schedule", "Suspend", "Active", "LastSchedule", "Age")


def table(cronjobs: Sequence[JsonObject]) -> str:
    return columns(HEADER, [_row(each) for each in cronjobs])


def wide_table(cronjobs: Sequence[JsonObject]) -> str:
    """With the time zone, what happens when jobs overlap, the last success and the jobs that run."""
    rows = []
    for each in cronjobs:
        spec, status = each.get("spec") or {}, each.get("status") or {}
        success = status.get("lastSuccessfulTime")
        running = ",".join(job.get("name", "") for job in status.get("active") or ())
        overlap = (spec.get("timeZone") or "UTC", spec.get("concurrencyPolicy", "Allow"))
        rows.append([*_row(each), *overlap, since(success) if success else "-", running or "-"])
    return columns((*HEADER, "TimeZone", "Concurrency", "LastSuccess", "Jobs"), rows)


def _row(each: JsonObject) -> list[object]:
    spec, status = each.get("spec") or {}, each.get("status") or {}
    last = status.get("lastScheduleTime")
    suspended = str(bool(spec.get("suspend"))).lower()
    active = len(status.get("active") or ())
    plan = (spec.get("schedule", ""), suspended, active, since(last) if last else "-")
    return [*name_and_namespace(each), *plan, age_of(each)]


cronjob = Noun(CRON_JOBS, "cronjob", table, wide_table).group(
    "Create, list, get, describe, suspend, resume, trigger and delete jobs on a schedule."
)


@cronjob.command()
@many_names("cronjob name is mandatory to suspend a particular cronjob")
@namespace_flag()
@on_cluster
async def suspend(client: Client, names: tuple[str, ...], namespace: str) -> int:
    """Start no further jobs; those that run go on."""
    return await _set_suspended(client, names, namespace, suspended=True)


@cronjob.command()
@many_names("cronjob name is mandatory to resume a particular cronjob")
@namespace_flag()
@on_cluster
async def resume(client: Client, names: tuple[str, ...], namespace: str) -> int:
    """Start jobs on schedule again."""
    return await _set_suspended(client, names, namespace, suspended=False)


async def _set_suspended(client: Client, names: tuple[str, ...], namespace: str, *, suspended: bool) -> int:
    async def change(name: str) -> None:
        await one(client, CRON_JOBS, name, namespace)
        await client.patch(CRON_JOBS, name, {"spec": {"suspend": suspended}}, namespace)

    return await for_each(names, change)


@cronjob.command()
@one_name("cronjob name is mandatory to trigger a particular cronjob")
@namespace_flag()
@on_cluster
async def trigger(client: Client, name: str, namespace: str) -> None:
    """Run its job now, besides the schedule."""
    found = await one(client, CRON_JOBS, name, namespace)
    template = (found.get("spec") or {}).get("jobTemplate") or {}
    metadata = {key: dict(value) for key, value in (template.get("metadata") or {}).items() if value}
    job = {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {**metadata, "name": f"{name}-{datetime.now(UTC):%Y%m%d%H%M%S}", "namespace": namespace},
        "spec": copy.deepcopy(template.get("spec") or {}),
    }
    created = await client.create(JOBS.untyped, job, namespace)
    click.echo(f"run job {created['metadata']['name']} successfully")
