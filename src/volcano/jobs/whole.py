"""Everything that the scheduler's decisions on a cluster depend on, read through its API.

For `vcctl dump`, and for those who ask why something waits (`explain.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

CONFIG_MAPS = ("volcano-scheduler-configmap",)
"""Where a cluster keeps the scheduler's configuration, in the namespace of the scheduler."""


async def read_cluster(client: Client, scheduler_namespace: str) -> tuple[list[JsonObject], str]:
    """The objects, and the scheduler's configuration as far as it can be found."""
    return await collect(client), await _conf_of(client, scheduler_namespace) or _local_conf()


async def collect(client: Client) -> list[JsonObject]:
    """Every object that some plugin or action looks at, in an order that is good to take in."""
    from volcano.kube.errors import Forbidden, NotFound
    from volcano.scheduler.daemon.ingest import ALWAYS
    from volcano.scheduler.dump import by_plural
    from volcano.scheduler.framework.registry import built_in

    watched = {plural for plugin in built_in().plugins.values() for plural in plugin.watches}
    watched -= {resource.plural for resource in ALWAYS}
    kinds = [by_plural("priorityclasses"), *(by_plural(name) for name in sorted(watched)), *ALWAYS]
    objects: list[JsonObject] = []
    for resource in kinds:
        if resource is None:
            continue
        try:
            listing = await client.list(resource.untyped)
        except (NotFound, Forbidden):
            continue  # this cluster does not have the kind, or does not show it
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        objects += [{**item, **head} for item in listing.items]
    return objects


async def _conf_of(client: Client, namespace: str) -> str:
    from volcano.api.resources import CONFIGMAPS
    from volcano.kube.errors import ApiError

    for name in CONFIG_MAPS:
        try:
            found: Any = await client.get(CONFIGMAPS, name, namespace)
        except ApiError:
            continue
        for key, text in found.data.items():
            if key.endswith(".conf"):
                return str(text)
    return ""


def _local_conf() -> str:
    """The configuration of this machine's local mode, if that is what runs; else the scheduler's default."""
    from volcano.local.home import local_root
    from volcano.scheduler.framework.conf import DEFAULT_CONF

    try:
        return (local_root() / "conf" / "volcano-scheduler.conf").read_text()
    except OSError:
        return DEFAULT_CONF
