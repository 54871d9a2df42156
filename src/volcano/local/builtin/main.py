"""The daemon that runs these controllers: informers first, then every controller until stopped.

Neighbours: each controller is a module of this package; `world` and `kinds` are shared by all.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence

from volcano.api.meta import JsonObject
from volcano.api.resources import NAMESPACES
from volcano.http.lifetime import LOG_FORMAT, keep_collector_settled, stop_on_signals, until_stopped
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.clock import ClockWatch
from volcano.kube.informer import Informer
from volcano.kube.transport import HttpTransport
from volcano.local.builtin.batchjobs import BatchJobController
from volcano.local.builtin.claims import ClaimController
from volcano.local.builtin.collector import GarbageCollector
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.daemonsets import DaemonSetController
from volcano.local.builtin.deployments import DeploymentController
from volcano.local.builtin.kinds import Kinds
from volcano.local.builtin.namespaces import NamespaceController
from volcano.local.builtin.nodes import NodeController
from volcano.local.builtin.replicasets import ReplicaSetController
from volcano.local.builtin.serviceaccounts import ServiceAccountController
from volcano.local.builtin.services import ServiceController
from volcano.local.builtin.statefulsets import StatefulSetController
from volcano.local.builtin.world import World
from volcano.local.node.certificates import authorities_of

log = logging.getLogger("volcano.builtin")


async def run(client: Client, *, authority: str = "", ready: asyncio.Event | None = None) -> None:
    """Run all controllers until cancelled. `authority` is the cluster's root certificate, in PEM."""
    world, kinds = World(client), Kinds(client)
    namespaces: Informer[JsonObject] = Informer(client, NAMESPACES.untyped)
    controllers: list[Controller] = [
        NamespaceController(client, world, kinds, namespaces),
        ServiceAccountController(client, world, namespaces, authority),
        ReplicaSetController(client, world),
        DeploymentController(client, world),
        StatefulSetController(client, world),
        DaemonSetController(client, world),
        BatchJobController(client, world),
        NodeController(client, world),
        ClaimController(client, world),
        ServiceController(client, world),
        GarbageCollector(client, world, kinds),
    ]
    clock = ClockWatch()
    for controller in controllers:
        controller.connect()
        clock.tell(controller.queue.hasten)
    async with asyncio.TaskGroup() as tasks:
        for following in (namespaces.run(), kinds.run(), world.run(), clock.look()):
            tasks.create_task(following)
        await namespaces.synced()
        await world.synced()
        if ready is not None:
            ready.set()
        for controller in controllers:
            tasks.create_task(controller.run())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the daemon; the exit status."""
    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    parser = argparse.ArgumentParser(prog="volcano-kube-controllers", description="Kubernetes' own controllers.")
    parser.add_argument("--kubeconfig", help="how to reach the API server (default: $KUBECONFIG, ~/.kube/config)")
    parser.add_argument("--master", help="address of the API server, instead of the kubeconfig's")
    arguments = parser.parse_args(argv)
    try:
        settings = config.load(arguments.kubeconfig, None, arguments.master)
        public = config.load(arguments.kubeconfig) if arguments.kubeconfig else settings
    except config.ConfigError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the daemon's last words
        return 1
    asyncio.run(_serve(settings, authorities_of(public.ssl)))
    return 0


async def _serve(settings: config.ClusterConfig, authority: str) -> None:
    client = Client(HttpTransport(settings), user_agent="volcano-kube-controllers")
    try:
        with stop_on_signals() as stop:
            controllers = asyncio.create_task(run(client, authority=authority))
            await until_stopped(stop, controllers, asyncio.create_task(keep_collector_settled()))
    finally:
        await client.close()
