"""Looks at a cluster for the checks. What may not be read is noted, not fatal."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from volcano.api import resources
from volcano.api.meta import JsonObject
from volcano.doctor import nodes
from volcano.doctor.findings import Facts
from volcano.kube import versions
from volcano.kube.client import Client
from volcano.kube.errors import ApiError, Forbidden

EVERYWHERE: Final = (
    resources.QUEUES,
    resources.NODES,
    resources.LEASES,
    resources.DEPLOYMENTS,
    resources.CUSTOM_RESOURCE_DEFINITIONS,
    resources.MUTATING_WEBHOOKS,
    resources.VALIDATING_WEBHOOKS,
)
AT_HOME: Final = (resources.CONFIGMAPS, resources.ENDPOINT_SLICES, resources.EVENTS)
"""Read only in the namespace where Volcano is installed."""
AT_MOST: Final = 500
"""So many podgroups are read: there may be too many."""
SECRET: Final = "volcano-admission-secret"  # noqa: S105 - the name of an object

IMPOSSIBLE: Final[JsonObject] = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "vcctl-doctor-probe", "namespace": "default"},
    "spec": {
        "minAvailable": 2,
        "tasks": [{"name": "a", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}],
    },
}
"""A job that every admission refuses: it asks for more members than it has. Only ever sent as a dry run."""


async def gather(client: Client, namespace: str, now: datetime.datetime) -> Facts:
    """Read what the checks judge; `namespace` is where Volcano is installed."""
    unseen: dict[str, str] = {}
    version = await versions.of(client)
    wanted = [*((one, None) for one in EVERYWHERE), *((one, namespace) for one in AT_HOME)]
    lists = await asyncio.gather(*(_list(client, resource, where, unseen) for resource, where in wanted))
    objects = {resource.plural: items for (resource, _), items in zip(wanted, lists, strict=True)}
    objects["deployments"] = [one for one in objects["deployments"] if _is_ours(one)]
    objects["events"] += await _list(client, resources.EVENTS, "default", unseen, f"reason={nodes.DELETED}")
    objects["pods"] = await _on(client, nodes.gone(objects["events"], now), unseen)
    objects["podgroups"] = await _some(client, resources.PODGROUPS, unseen)
    objects["secrets"] = await _secret(client, namespace, unseen)
    return Facts(
        now=now,
        version=version,
        objects=objects,
        refusal=await _refusal(client, unseen),
        expected=resources.ALL_VOLCANO,
        unseen=unseen,
    )


async def _list(
    client: Client,
    resource: resources.Resource[Any],
    namespace: str | None,
    unseen: dict[str, str],
    fields: str | None = None,
) -> list[JsonObject]:
    try:
        return (await client.list(resource.untyped, namespace, field_selector=fields)).items
    except ApiError as problem:
        unseen[resource.plural] = str(problem)
        return []


async def _on(client: Client, names: Iterable[str], unseen: dict[str, str]) -> list[JsonObject]:
    """The pods that are bound to these nodes."""
    found: list[JsonObject] = []
    for name in names:
        found += await _list(client, resources.PODS, None, unseen, f"spec.nodeName={name}")
    return found


async def _some(client: Client, resource: resources.Resource[Any], unseen: dict[str, str]) -> list[JsonObject]:
    """The first of them."""
    try:
        answer = await client.raw("GET", resource.path(), [("limit", str(AT_MOST))])
    except ApiError as problem:
        unseen[resource.plural] = str(problem)
        return []
    items: list[JsonObject] = msgspec.json.decode(answer.content)["items"]
    return items


async def _secret(client: Client, namespace: str, unseen: dict[str, str]) -> list[JsonObject]:
    """Only the certificate is kept: keys have no place in a report."""
    try:
        secret = await client.get(resources.SECRETS.untyped, SECRET, namespace)
    except Forbidden as problem:
        unseen["secrets"] = str(problem)
        return []
    except ApiError:
        return []
    return [{"metadata": secret["metadata"], "data": {"tls.crt": (secret.get("data") or {}).get("tls.crt", "")}}]


async def _refusal(client: Client, unseen: dict[str, str]) -> str:
    hints, client.on_warning = client.on_warning, None
    try:
        await client.create(resources.JOBS.untyped, IMPOSSIBLE, dry_run=True)
    except Forbidden as problem:
        if "cannot create" in str(problem):
            unseen["admission"] = str(problem)
        return str(problem)
    except ApiError as problem:
        return str(problem)
    finally:
        client.on_warning = hints
    return ""


def _is_ours(deployment: JsonObject) -> bool:
    labels = deployment["metadata"].get("labels") or {}
    return str(labels.get("app", "")).startswith("volcano-")
