"""Names of objects for the shell: what the cluster has where a name is to be typed. Silent when it cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from volcano.api.resources import Resource
    from volcano.kube.client import Client

SECONDS = 2.0
"""A shell that hangs is worse than one that does not complete."""


def names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Objects of the noun that the command is about."""
    from volcano.cli.kinds import resource_of

    noun = ctx.params.get("kind") or (ctx.parent.info_name if ctx.parent and ctx.parent.parent else "") or "job"
    if ctx.find_root().info_name == "vqueues":
        noun = "queue"
    try:
        return _starting(ctx, resource_of(noun), incomplete)
    except Exception:  # noqa: BLE001 - there is nobody to tell: the shell shows nothing
        return []


def targets(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """`KIND/NAME`, or the name of a job."""
    from volcano.api.resources import JOBS
    from volcano.cli.kinds import KINDS, resource_of

    kind, separator, name = incomplete.rpartition("/")
    try:
        if separator:
            return [f"{kind}/{found}" for found in _starting(ctx, resource_of(kind), name)]
        kinds = [f"{each.singular}/" for each in KINDS if each.singular.startswith(incomplete)]
        return [*_starting(ctx, JOBS, incomplete), *kinds]
    except Exception:  # noqa: BLE001 - as above
        return []


def queues(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return _of(ctx, "QUEUES", incomplete)


def namespaces(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return _of(ctx, "NAMESPACES", incomplete)


def _of(ctx: click.Context, constant: str, incomplete: str) -> list[str]:
    from volcano.api import resources

    try:
        return _starting(ctx, getattr(resources, constant), incomplete)
    except Exception:  # noqa: BLE001 - as above
        return []


def _starting(ctx: click.Context, resource: Resource[Any], incomplete: str) -> list[str]:
    import asyncio

    from volcano.cli.connection import ask

    async def found(client: Client) -> list[str]:
        namespace = (ctx.params.get("namespace") or "default") if resource.namespaced else None
        async with asyncio.timeout(SECONDS):
            items = (await client.list(resource.untyped, namespace)).items
        return sorted(item["metadata"]["name"] for item in items if item["metadata"]["name"].startswith(incomplete))

    return ask(found, ctx.params.get("master") or "", ctx.params.get("kubeconfig") or "", loop=True)
