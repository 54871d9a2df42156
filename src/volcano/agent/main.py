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
from typing import Final, NamedTuple

from volcano import __version__
from volcano.agent.agent import Agent, View
from volcano.agent.configuration import KEY, NAME, default_text
from volcano.agent.keeper import Keeper
from volcano.agent.networkqos import NetworkQos
from volcano.agent.options import Flags, hierarchy, mount_of, parse
from volcano.agent.shaper import Shaper
from volcano.agent.usage import Meter
from volcano.api import resources
from volcano.api.core.cluster import ConfigMap
from volcano.api.core.nodes import Node
from volcano.api.core.pods import Pod
from volcano.http.health import HealthApp, serve_health
from volcano.http.lifetime import LOG_FORMAT, stop_on_signals, until_stopped
from volcano.http.metrics import Family, Gauge, Registry
from volcano.http.process import process_metrics
from volcano.kube.client import Client
from volcano.kube.config import ConfigError, load
from volcano.kube.errors import AlreadyExists, ApiError
from volcano.kube.events import EventRecorder
from volcano.kube.informer import Informer
from volcano.kube.transport import HttpTransport

log = logging.getLogger(__name__)

ROUND_SECONDS: Final = 10.0
_STALLED_SECONDS: Final = 60.0


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


def offers(registry: Registry) -> Family[Gauge]:
    """What the agent reports."""
    return registry.gauges(
        "oversubscription_resource_quantity", "Spare resources offered: milli-CPU, and bytes.", "node", "resource"
    )


async def run(
    client: Client,
    flags: Flags,
    environment: Mapping[str, str],
    stop: asyncio.Event,
    *,
    now: Callable[[], float] = time.monotonic,
    every: float = ROUND_SECONDS,
    serving: Callable[[int], None] = lambda _port: None,
    shaper: Shaper | None = None,
) -> None:
    """The daemon on a client of its own or of its host, until `stop`. `serving` is told the port of the probes."""
    await ensure_configuration(client, flags.kube_pod_namespace)
    async with AsyncExitStack() as cleanup:
        node_cgroups = str(mount_of(environment) / flags.kube_cgroup_root.strip("/"))
        keeper = await asyncio.to_thread(Keeper, node_cgroups)
        cleanup.callback(keeper.close)
        cgroups = hierarchy(flags, environment, keeper.note_file)
        meter = Meter(
            cgroups,
            now,
            stat=Path(environment.get("PROC_STAT_PATH", "/proc/stat")),
            meminfo=Path(environment.get("MEM_INFO_PATH_ENV", "/proc/meminfo")),
            system=flags.include_system_usage,
        )
        registry = Registry("volcano_agent_")
        events = EventRecorder(client, "volcano-agent", host=flags.kube_node_name)
        network = NetworkQos(shaper or Shaper(), keeper)
        agent = Agent(client, events, cgroups, meter, flags, offers(registry), network)
        cleanup.callback(agent.stop)
        watches = _watches(client, flags)
        pace = Pace(max(_STALLED_SECONDS, 6 * every))
        health = HealthApp(registry, process_metrics(), alive={"rounds": pace.problem})
        server = await serve_health(health, f"{flags.healthz_address}:{flags.healthz_port}")
        cleanup.push_async_callback(server.close, 1.0)
        serving(server.port)
        work = (_rounds(agent, watches, flags, keeper, pace, every), events.run(), *(one.run() for one in watches))
        await until_stopped(stop, *(asyncio.create_task(one) for one in work))


class Pace:
    """Whether rounds go on."""

    def __init__(self, patience_seconds: float) -> None:
        self._patience_seconds = patience_seconds
        self._last = time.monotonic()

    def beat(self) -> None:
        self._last = time.monotonic()

    def problem(self) -> str | None:
        waited = time.monotonic() - self._last
        return f"no round for {waited:.0f} s" if waited > self._patience_seconds else None


class _Watches(NamedTuple):
    node: Informer[Node]
    pods: Informer[Pod]
    configuration: Informer[ConfigMap]


def _watches(client: Client, flags: Flags) -> _Watches:
    return _Watches(
        Informer(client, resources.NODES, field_selector=f"metadata.name={flags.kube_node_name}"),
        Informer(client, resources.PODS, field_selector=f"spec.nodeName={flags.kube_node_name}"),
        Informer(
            client,
            resources.CONFIGMAPS,
            namespace=flags.kube_pod_namespace,
            field_selector=f"metadata.name={NAME}",
        ),
    )


async def _rounds(agent: Agent, watches: _Watches, flags: Flags, keeper: Keeper, pace: Pace, every: float) -> None:
    for informer in watches:
        await informer.synced()
    await agent.start(tuple(watches.pods.store.values()))
    while True:
        pace.beat()
        keeper.revive()
        node = watches.node.get(flags.kube_node_name)
        if node is None:
            log.warning("there is no node %s", flags.kube_node_name)
        else:
            settings = watches.configuration.get(NAME, flags.kube_pod_namespace)
            text = settings.data.get(KEY, "") if settings is not None else ""
            await agent.round(View(node, tuple(watches.pods.store.values()), text))
        await asyncio.sleep(every)


async def ensure_configuration(client: Client, namespace: str) -> None:
    """Make the ConfigMap with the defaults unless there is one."""
    document = {"metadata": {"name": NAME, "namespace": namespace}, "data": {KEY: default_text()}}
    try:
        await client.create(resources.CONFIGMAPS.untyped, document)
    except AlreadyExists:
        return


if __name__ == "__main__":
    sys.exit(main())
