"""Objects that commands are about: one by name, with near names when it is missing, or those that are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from volcano.api.keys import JOB_NAME
from volcano.cli.errors import CommandError, describe_api_error, fail, misuse, tell, told_plainly
from volcano.cli.statuses import DONE, FAILED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from volcano.api.meta import JsonObject
    from volcano.api.resources import Resource
    from volcano.kube.client import Client

NEAR = 3


async def one(client: Client, resource: Resource[Any], name: str, namespace: str | None = None) -> JsonObject:
    """The object of that name, or of KIND/NAME."""
    from volcano.kube.errors import NotFound

    name = bare(resource, name)
    try:
        found: JsonObject = await client.get(resource.untyped, name, namespace)
    except NotFound as error:
        raise fail(describe_api_error(error) + await _elsewhere(client, resource, name, namespace)) from error
    return found


async def remove(client: Client, resource: Resource[Any], name: str, namespace: str | None = None) -> None:
    """Delete the object of that name."""
    from volcano.kube.errors import NotFound

    try:
        await client.delete(resource, name, namespace)
    except NotFound as error:
        raise fail(describe_api_error(error) + await _elsewhere(client, resource, name, namespace)) from error


async def all_of(
    client: Client, resource: Resource[Any], names: Sequence[str], namespace: str | None = None
) -> list[JsonObject]:
    """The objects of these names, all of which must be there."""
    return [await one(client, resource, name, namespace) for name in names]


def bare(resource: Resource[Any], name: str) -> str:
    """`train` of `job/train`, as `--output name` prints it; another kind than the command's is a misuse."""
    if "/" not in name:
        return name
    from volcano.cli.kinds import resource_and_name

    kind, own = resource_and_name(name, resource.singular)
    if kind is not resource:
        raise misuse(f"{name!r} is a {kind.singular}: name a {resource.singular}")
    return own


async def for_each(names: Sequence[str], act: Callable[[str], Awaitable[object]]) -> int:
    """Do `act` with every name, and return the exit status: what fails for one is told, and the others go on."""
    status: int = DONE
    for name in names:
        try:
            with told_plainly():
                await act(name)
        except CommandError as error:
            if isinstance(error.__cause__, OSError):  # no server answers: the others would wait for it, too
                raise
            tell(error, click.get_current_context().find_root().info_name or "")
            status = FAILED
    return status


async def listed(
    client: Client,
    resource: Resource[Any],
    namespace: str | None,
    *,
    all_namespaces: bool = False,
    labels: str = "",
) -> list[JsonObject]:
    """The objects of a namespace; an empty one means all of them, as for upstream's tools."""
    listing = await client.list(resource.untyped, None if all_namespaces else namespace or None, labels or None)
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    return [{**head, **item} for item in listing.items]


async def _elsewhere(client: Client, resource: Resource[Any], name: str, namespace: str | None) -> str:
    """Where the name exists, or which names are like it; nothing when that cannot be told."""
    from difflib import get_close_matches

    from volcano.kube.errors import ApiError

    try:
        objects = (await client.list(resource.untyped)).items
    except ApiError:
        return ""
    where = [item["metadata"].get("namespace", "") for item in objects if item["metadata"]["name"] == name]
    if where and namespace:
        if len(where) > 1:
            return f"\n  there are some in namespaces {', '.join(sorted(where))}: choose one with --namespace"
        return f"\n  there is one in namespace {where[0]}: choose it with --namespace"
    here = {item["metadata"]["name"] for item in objects if item["metadata"].get("namespace", "") == (namespace or "")}
    array, _, member = name.rpartition("_")
    if array in here and member.isdigit():  # as SLURM_JOB_ID says it
        selector = f"{JOB_NAME}={array}"
        return (
            f"\n  the members of an array are pods: {array} is the job; list them with `kubectl get pods -l {selector}`"
        )
    near = get_close_matches(name, here, n=NEAR)
    return f"\n  did you mean {' or '.join(map(repr, near))}?" if near else ""
