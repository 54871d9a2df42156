"""vc-agent: watch this node, its pods and the configuration, and act every ten seconds until told to stop.

`options` has the flags, `agent` the rounds.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from volcano import __version__
from volcano.agent.agent import Agent, View
from volcano.agent.configuration import KEY, NAME, default_text
from volcano.agent.options import Flags, hierarchy, parse
from volcano.agent.usage import Meter
from volcano.api import resources
from volcano.http.health import HealthApp, serve_health
from volcano.http.lifetime import LOG_FORMAT, stop_on_signals, until_stopped
from volcano.http.metrics import Registry
from volcano.http.process import process_metrics
from volcano.kube.client import Client
from volcano.kube.config import ConfigError, load
from volcano.kube.errors import AlreadyExists, ApiError
from volcano.kube.events import EventRecorder
from volcano.kube.informer import Informer
from volcano.kube.transport import HttpTransport

log = logging.getLogger(__name__)

ROUND_SECONDS: Final = 10.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT. Anything that prevents the start is the last line on standard error."""
    try:
        flags = parse(sys.argv[1:] if argv is None else argv, os.environ)
        if flags.version:
            sys.stdout.write(f"vc-agent {__version__}\n")
            return 0
        level = logging.DEBUG if flags.verbosity >= 4 else logging.INFO
        logging.basicConfig(level=level, format=LOG_FORMAT, stream=sys.stderr)
        asyncio.run(_run_until_signal(flags))
    except (ValueError, ConfigError, ApiError, OSError) as error:
        sys.stderr.write(f"vc-agent: {error}\n")
        return 1
    return 0


async def _run_until_signal(flags: Flags) -> None:
    client = Client(HttpTransport(load(flags.kubeconfig or None)), user_agent="vc-agent")
    try:
        with stop_on_signals() as stop:
            await run(client, flags, os.environ, stop)
    finally:
        await client.close()


async def run(
    client: Client,
    flags: Flags,
    environment: Mapping[str, str],
    stop: asyncio.Event,
    *,
    now: Callable[[], float] = time.monotonic,
    every: float = ROUND_SECONDS,
    serving: Callable[[int], None] = lambda _port: None,
) -> None:
    """The daemon on a client of its own or of its host, until `stop`. `serving` is told the port of the probes."""
    registry = Registry("volcano_agent_")
    offered = registry.gauges(
        "oversubscription_resource_quantity", "Spare resources offered: milli-CPU, and bytes.", "node", "resource"
    )
    cgroups = hierarchy(flags, environment)
    meter = Meter(
        cgroups,
        now,
        stat=Path(environment.get("PROC_STAT_PATH", "/proc/stat")),
        meminfo=Path(environment.get("MEM_INFO_PATH_ENV", "/proc/meminfo")),
        system=flags.include_system_usage,
    )
    events = EventRecorder(client, "volcano-agent", host=flags.kube_node_name)
    agent = Agent(client, events, cgroups, meter, flags, offered)
    node = Informer(client, resources.NODES, field_selector=f"metadata.name={flags.kube_node_name}")
    pods = Informer(client, resources.PODS, field_selector=f"spec.nodeName={flags.kube_node_name}")
    configuration = Informer(
        client,
        resources.CONFIGMAPS,
        namespace=flags.kube_pod_namespace,
        field_selector=f"metadata.name={NAME}",
    )

    async def rounds() -> None:
        for informer in (node, pods, configuration):
            await informer.synced()
        while True:
            this = node.get(flags.kube_node_name)
            if this is None:
                log.warning("there is no node %s", flags.kube_node_name)
            else:
                settings = configuration.get(NAME, flags.kube_pod_namespace)
                text = settings.data.get(KEY, "") if settings is not None else ""
                await agent.round(View(this, tuple(pods.store.values()), text))
            await asyncio.sleep(every)

    await ensure_configuration(client, flags.kube_pod_namespace)
    async with AsyncExitStack() as cleanup:
        address = f"{flags.healthz_address}:{flags.healthz_port}"
        server = await serve_health(HealthApp(registry, process_metrics()), address)
        cleanup.push_async_callback(server.close, 1.0)
        cleanup.callback(agent.stop)
        serving(server.port)
        work = (rounds(), events.run(), node.run(), pods.run(), configuration.run())
        await until_stopped(stop, *(asyncio.create_task(one) for one in work))


async def ensure_configuration(client: Client, namespace: str) -> None:
    """Make the ConfigMap with the defaults unless there is one."""
    document = {"metadata": {"name": NAME, "namespace": namespace}, "data": {KEY: default_text()}}
    try:
        await client.create(resources.CONFIGMAPS.untyped, document)
    except AlreadyExists:
        return


if __name__ == "__main__":
    sys.exit(main())
