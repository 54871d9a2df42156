"""The logs of a job's pods, line by line, each with its pod's name."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from volcano.api import keys

if TYPE_CHECKING:
    from volcano.kube.client import Client


async def print_logs(client: Client, namespace: str, job: str, *, follow: bool, tail: int | None) -> None:
    """Print what the pods of `job` wrote, in order of their names; with `follow`, as it is written."""
    from volcano.api.resources import PODS

    pods = await client.list(PODS.untyped, namespace, label_selector=f"{keys.JOB_NAME}={job}")
    names = sorted(pod["metadata"]["name"] for pod in pods.items)
    if not names:
        click.echo(f"job {job} has no pods", err=True)
    elif follow:
        await asyncio.gather(*(_print_pod(client, namespace, name, follow=True, tail=tail) for name in names))
    else:
        for name in names:
            await _print_pod(client, namespace, name, follow=False, tail=tail)


async def _print_pod(client: Client, namespace: str, pod: str, *, follow: bool, tail: int | None) -> None:
    from volcano.kube.errors import ApiError

    rest = b""
    try:
        async for chunk in client.logs(namespace, pod, follow=follow, tail_lines=tail):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                click.echo(f"{pod}: {line.decode(errors='replace')}")
    except ApiError as error:
        click.echo(f"{pod}: {error}", err=True)
    if rest:
        click.echo(f"{pod}: {rest.decode(errors='replace')}")
