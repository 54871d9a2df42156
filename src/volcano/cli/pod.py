"""vcctl pod: the pods of jobs and queues."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import click

from volcano.api import keys
from volcano.api.resources import PODS
from volcano.cli.connection import on_cluster
from volcano.cli.errors import fail
from volcano.cli.flags import all_namespaces_flag, namespace_flag
from volcano.cli.lazy import SuggestingGroup
from volcano.cli.objects import listed
from volcano.cli.output import output_flag, show
from volcano.cli.text import columns, fitted
from volcano.local.apiserver.wire.printers.pods import pod_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

HEADER = ("Name", "Ready", "Status", "Restart", "Age")


@click.group(cls=SuggestingGroup)
def pod() -> None:
    """List the pods of jobs and queues."""


@pod.command(name="list")
@click.option("-q", "--queue", default="", help="Only pods of this queue.")
@click.option("-j", "--job", default="", help="Only pods of this job.")
@namespace_flag()
@all_namespaces_flag
@output_flag
@on_cluster
async def list_pods(client: Client, queue: str, job: str, namespace: str, all_namespaces: bool, output: str) -> None:
    """List pods: of all jobs, of one job, or of a queue."""
    if job:
        labels = f"{keys.JOB_NAME}={job}"
    else:
        labels = "" if queue else keys.JOB_NAME
    pods = await listed(client, PODS, namespace, all_namespaces=all_namespaces, labels=labels)
    show(
        in_order(of_queue(pods, queue, job) if queue else pods),
        output,
        partial(table, show_namespace=all_namespaces),
        wide_table,
    )


def of_queue(pods: Sequence[JsonObject], queue: str, job: str = "") -> list[JsonObject]:
    """The pods whose label or annotation names the queue; the pods of a job must all be of it."""
    if not job:
        return [pod for pod in pods if queue in _queues(pod)]
    others = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(keys.QUEUE_NAME, queue) != queue]
    if others:
        raise fail(f"the input vcjob {job} does not match the queue {queue}")
    return list(pods)


def _queues(pod: JsonObject) -> tuple[str | None, str | None]:
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") or {}
    return (metadata.get("labels") or {}).get(keys.QUEUE_NAME), annotations.get(keys.POD_QUEUE_NAME)


def in_order(pods: Sequence[JsonObject]) -> list[JsonObject]:
    return sorted(pods, key=lambda pod: (pod["metadata"].get("namespace", ""), pod["metadata"]["name"]))


def table(pods: Sequence[JsonObject], *, show_namespace: bool, now: datetime | None = None) -> str:
    """Padded as upstream pads it."""
    moment = now or datetime.now(UTC)
    rows = [pod_cells(pod, moment)[: len(HEADER)] for pod in pods]
    if not show_namespace:
        return fitted(HEADER, rows, beyond_title=2, beyond_value=8)
    spaced = [[pod["metadata"].get("namespace", ""), *row] for pod, row in zip(pods, rows, strict=True)]
    return fitted(("Namespace", *HEADER), spaced, beyond_title=2, beyond_value=8)


def wide_table(pods: Sequence[JsonObject]) -> str:
    """With the address, the node, the job and its task."""
    now = datetime.now(UTC)
    rows = []
    for pod in pods:
        metadata, cells = pod["metadata"], pod_cells(pod, now)
        marks = {**(metadata.get("annotations") or {}), **(metadata.get("labels") or {})}
        job, task = marks.get(keys.JOB_NAME, "-"), marks.get(keys.TASK_SPEC, "-")
        rows.append([metadata.get("namespace", ""), *cells[: len(HEADER) + 2], job, task])
    return columns(("Namespace", *HEADER, "IP", "Node", "Job", "Task"), rows)
