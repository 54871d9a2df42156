"""vcctl apply: make the objects of manifests be as they say, in an order in which none waits for a later one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from volcano.api.resources import ALL_KUBERNETES, ALL_VOLCANO, by_kind
from volcano.cli.connection import on_cluster
from volcano.cli.errors import command_path, describe_api_error, fail
from volcano.cli.flags import file_flag, namespace_flag
from volcano.cli.manifests import read
from volcano.cli.queue_tree import parent_of
from volcano.cli.statuses import FAILED, UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.api.meta import JsonObject
    from volcano.api.resources import Resource
    from volcano.kube.client import Client

FIRST = ("Namespace", "PriorityClass", "ServiceAccount", "ConfigMap", "Secret", "HyperNode", "Queue", "JobTemplate")
"""What others refer to."""


@click.command()
@file_flag(required=True, help="Manifests; folders and - for standard input, too. May be repeated.")
@namespace_flag()
@click.option("--dry-run", is_flag=True, help="Let the server judge, and change nothing.")
@click.option("--force-conflicts", is_flag=True, help="Take fields over that others have set.")
@on_cluster
async def apply(client: Client, files: Sequence[str], namespace: str, dry_run: bool, force_conflicts: bool) -> int:
    """Create the objects of manifests, or change them to what the manifests say (server-side apply).

    What others refer to comes first: namespaces, queues from the root down, templates. Objects that are refused are
    named, and the rest is applied all the same; then the exit status is 255.
    """
    from volcano.kube.errors import ApiError

    status = 0
    for resource, document in placed(read(files), namespace):
        place = f"{resource.singular}/{document['metadata']['name']}"
        try:
            before = await current(client, resource, document)
            after = await client.apply(resource.untyped, document, force=force_conflicts, dry_run=dry_run)
        except ApiError as error:
            click.echo(f"{place} failed: {describe_api_error(error)}", err=True)
            status = FAILED
            continue
        click.echo(f"{place} {_what_happened(before, after)}{' (dry run)' if dry_run else ''}")
    return status


def placed(documents: Sequence[JsonObject], namespace: str) -> list[tuple[Resource[Any], JsonObject]]:
    """The documents with their resources and namespaces, in the order in which they can be made; at least one."""
    if not documents:
        raise fail(f"no objects passed to {command_path()}", exit_status=UNREADABLE)
    found = []
    for document in documents:
        resource = by_kind(document["apiVersion"], document["kind"])
        if resource is None:
            raise fail(_unknown(document["apiVersion"], document["kind"]), exit_status=UNREADABLE)
        metadata = document.setdefault("metadata", {})
        if not metadata.get("name"):
            raise fail(f"a {document['kind']} has no metadata.name", exit_status=UNREADABLE)
        if resource.namespaced:
            metadata.setdefault("namespace", namespace)
        found.append((resource, document))
    depths = _depths([document for resource, document in found if resource.kind == "Queue"])

    def place(item: tuple[Resource[Any], JsonObject]) -> tuple[int, int]:
        kind = item[0].kind
        rank = FIRST.index(kind) if kind in FIRST else len(FIRST)
        return rank, depths.get(item[1]["metadata"]["name"], 0) if kind == "Queue" else 0

    return sorted(found, key=place)


def _unknown(api_version: str, kind: str) -> str:
    """What is said of a kind that is not known: which version has it, what may be meant, or who else to ask."""
    from volcano.webhooks.suggestions import suggestion

    known = (*ALL_VOLCANO, *ALL_KUBERNETES)
    versions = [resource.api_version for resource in known if resource.kind == kind]
    near = suggestion(kind, [resource.kind for resource in known if resource.api_version == api_version])
    exists = f"{kind} exists in {' and '.join(versions)}; for another one" if versions else ""
    return f"{api_version} {kind} is no kind that vcctl knows: {near or f'{exists} use kubectl apply'.strip()}"


def _depths(queues: Sequence[JsonObject]) -> dict[str, int]:
    """How far below the highest given queue each one is; a circle is for the server to refuse."""
    parents = {queue["metadata"]["name"]: parent_of(queue) for queue in queues}

    def depth(name: str) -> int:
        steps, above = 0, parents[name]
        while above in parents and steps <= len(parents):
            steps, above = steps + 1, parents[above]
        return steps

    return {name: depth(name) for name in parents}


async def current(client: Client, resource: Resource[Any], document: JsonObject) -> JsonObject | None:
    """The object as it is now; None when there is none."""
    from volcano.kube.errors import NotFound

    metadata = document["metadata"]
    try:
        return await client.get(resource.untyped, metadata["name"], metadata.get("namespace"))
    except NotFound:
        return None


def _what_happened(before: JsonObject | None, after: JsonObject) -> str:
    if before is None:
        return "created"
    return "unchanged" if meant(before) == meant(after) else "configured"


def meant(document: JsonObject) -> JsonObject:
    """What people say about an object, without what the server keeps."""
    metadata = document["metadata"]
    kept = {
        key: metadata[key] for key in ("labels", "annotations", "finalizers", "ownerReferences") if metadata.get(key)
    }
    rest = {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    return {**({"metadata": kept} if kept else {}), **rest}
