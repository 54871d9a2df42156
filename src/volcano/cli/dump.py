"""vcctl dump: the scheduler's whole input of a running cluster in one file, for `vcctl schedule -f`.

Reads the objects; `scheduler.dump` decides what is left out.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from volcano.cli.connection import connected, connection_flags, run_async
from volcano.cli.errors import fail

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

CONFIG_MAPS = ("volcano-scheduler-configmap",)
"""Where a cluster keeps the scheduler's configuration, in the namespace of the scheduler."""


@click.command(name="dump")
@connection_flags
@click.option("-o", "--output", "path", default="-", help="File to write, readable by you alone; - prints.")
@click.option("--scheduler-conf", default="", help="Configuration of the scheduler, where the cluster has none.")
@click.option("--scheduler-namespace", default="volcano-system", show_default=True)
def dump_cluster(path: str, scheduler_conf: str, scheduler_namespace: str, master: str, kubeconfig: str) -> None:
    """Write everything that the scheduler's decisions depend on to one file.

    Environment variables, commands and secrets are left out. `vcctl schedule -f FILE` repeats the decision.
    """
    from volcano.scheduler import dump
    from volcano.scheduler.daemon.flags import Flags

    objects, found = run_async(_read(master, kubeconfig, scheduler_namespace))
    conf = read_conf(scheduler_conf) or found
    record = dump.Record(conf, Flags().deciding, time.time())
    text = json.dumps(dump.document(objects, record), indent=1, default=str) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise fail(f"{path}: {error.strerror}") from error
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(descriptor, 0o600)
        file.write(text)


async def _read(master: str, kubeconfig: str, namespace: str) -> tuple[list[JsonObject], str]:
    async with connected(master, kubeconfig) as client:
        return await read_cluster(client, namespace)


async def read_cluster(client: Client, namespace: str) -> tuple[list[JsonObject], str]:
    """The objects, and the scheduler's configuration as far as it can be found."""
    return await collect(client), await _conf_of(client, namespace) or _local_conf()


async def collect(client: Client) -> list[JsonObject]:
    """Every object that some plugin or action looks at, in an order that is good to take in."""
    from volcano.kube.errors import Forbidden, NotFound
    from volcano.scheduler.daemon.ingest import ALWAYS
    from volcano.scheduler.dump import by_plural
    from volcano.scheduler.framework.registry import built_in

    watched = {plural for plugin in built_in().plugins.values() for plural in plugin.watches}
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


def read_conf(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text()
    except OSError as error:
        raise fail(f"--scheduler-conf {path}: {error.strerror}") from error


def _local_conf() -> str:
    """The configuration of this machine's local mode, if that is what runs; else the scheduler's default."""
    from volcano.scheduler.framework.conf import DEFAULT_CONF

    local = Path.home() / ".volcano" / "local" / "conf" / "volcano-scheduler.conf"
    try:
        return local.read_text()
    except OSError:
        return DEFAULT_CONF
