"""vcctl dump: the scheduler's whole input of a running cluster in one file, for `vcctl schedule -f`.

`jobs.whole` reads the objects; `scheduler.dump` decides what is left out.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from volcano.cli.connection import ask, connection_flags
from volcano.cli.errors import misuse

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client


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

    objects, found = ask(partial(_read, namespace=scheduler_namespace), master, kubeconfig)
    conf = read_conf(scheduler_conf) or found
    record = dump.Record(conf, Flags().deciding, time.time())
    text = json.dumps(dump.document(objects, record), indent=1, default=str) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise misuse(f"{path}: {error.strerror}") from error
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(descriptor, 0o600)
        file.write(text)


async def _read(client: Client, namespace: str) -> tuple[list[JsonObject], str]:
    from volcano.jobs.whole import read_cluster

    return await read_cluster(client, namespace)


def read_conf(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text()
    except OSError as error:
        raise misuse(f"--scheduler-conf {path}: {error.strerror}") from error
