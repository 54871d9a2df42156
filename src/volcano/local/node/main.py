"""The node daemon: flags, then watch, run, report, serve.

Neighbours: `agent` (process pods), `simulated` (pretended nodes), `registration` (heartbeats), `endpoint` (logs).
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from volcano.api import keys, quantity
from volcano.http.lifetime import LOG_FORMAT, keep_collector_settled, stop_on_signals, until_stopped
from volcano.http.message import Request
from volcano.http.server import serve
from volcano.http.tls import server_context
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.transport import HttpTransport
from volcano.local.node import machine, spec
from volcano.local.node.agent import NodeAgent, NodeIdentity
from volcano.local.node.certificates import authorities_of, serving_identity
from volcano.local.node.endpoint import Endpoint
from volcano.local.node.layout import Layout
from volcano.local.node.registration import NodeDescription, keep_registered
from volcano.local.node.runtime import DataFolderInUse
from volcano.local.node.simulated import SimulatedNodes, remove_unserved

log = logging.getLogger("volcano.node")

ADDRESS = "127.0.0.1"
API_SERVER_CLIENT = "kube-apiserver-kubelet-client"


@dataclass(frozen=True)
class Options:
    """What the node is, and where it keeps its things. `name` "" means: no process node."""

    name: str
    data_dir: Path
    server: str = ""
    cpus: float | None = None
    memory: str | None = None
    pods: int = machine.MAX_PODS
    port: int = 0
    client_authority: bytes | Path | None = None
    labels: dict[str, str] = field(default_factory=dict)
    cgroup_root: str = ""
    simulated: Sequence[spec.NodeSpec] = ()


async def run(client: Client, options: Options, stop: asyncio.Event, ready: asyncio.Event | None = None) -> None:
    """Be the node until `stop` is set. Pods' processes go on; the next run adopts them."""
    work = [asyncio.create_task(keep_collector_settled())]
    if options.simulated:
        work.append(asyncio.create_task(SimulatedNodes(client, options.simulated, options.name).run()))
    if options.name:
        work.append(asyncio.create_task(_run_processes(client, options, ready or asyncio.Event())))
    await until_stopped(stop, *work)


async def _run_processes(client: Client, options: Options, registered: asyncio.Event) -> None:
    """The node that really runs pods: adopt and follow them, serve their logs, send heartbeats."""
    capacity = machine.capacity(options.cpus, options.memory, options.pods)
    layout = Layout(options.data_dir.resolve())
    layout.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    identity = NodeIdentity(options.name, ADDRESS, capacity)
    agent = NodeAgent(client, identity, layout, machine.base_environment(options.server), options.cgroup_root)
    certificate, key = await asyncio.to_thread(serving_identity, layout.root, options.name)
    tls = server_context(certificate, key, client_authority=options.client_authority)
    async with await serve(Endpoint(agent, _is_trusted).handle, host=ADDRESS, port=options.port, ssl=tls) as server:
        node = NodeDescription(
            name=options.name,
            capacity=capacity,
            address=ADDRESS,
            port=server.port,
            labels={keys.ARCH: machine.architecture(), **options.labels},
            info=machine.node_info(),
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(keep_registered(client, node, registered))
            tasks.create_task(agent.run())
            tasks.create_task(remove_unserved(client, options.name, {one.name for one in options.simulated}))


def _is_trusted(request: Request) -> bool:
    """The caller is the API server or an administrator, by a certificate that the cluster's authority signed."""
    peer = request.peer
    return "system:masters" in peer.organizations or peer.common_name == API_SERVER_CLIENT


def main(argv: Sequence[str] | None = None) -> int:
    """Run the daemon; the exit status."""
    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    try:
        arguments = parse_arguments(argv)
        settings = config.load(arguments.kubeconfig, None, arguments.master)
        public = config.load(arguments.kubeconfig) if arguments.kubeconfig else settings
        options = options_of(arguments, public)
    except (config.ConfigError, quantity.QuantityError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the daemon's last words
        return 1
    try:
        asyncio.run(_serve(settings, options))
    except (ExceptionGroup, OSError, DataFolderInUse) as error:
        if not isinstance(cause := leaf(error), (OSError, DataFolderInUse)):
            raise
        print(f"error: {cause}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def leaf(error: BaseException) -> BaseException:
    """The first real error inside nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _serve(settings: config.ClusterConfig, options: Options) -> None:
    client = Client(HttpTransport(settings), user_agent="volcano-node")
    try:
        with stop_on_signals() as stop:
            await run(client, options, stop)
    finally:
        await client.close()


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="volcano-node", description="Runs pods as processes of this machine.")
    parser.add_argument("--kubeconfig", help="how to reach the API server (default: $KUBECONFIG, ~/.kube/config)")
    parser.add_argument("--master", help="address of the API server, instead of the kubeconfig's")
    parser.add_argument("--name", default="local", help='name of the node; "" for simulated nodes only')
    parser.add_argument("--data-dir", type=Path, required=True, help="where pods' folders, logs and records are")
    parser.add_argument("--cpus", type=float, help="CPUs to offer (default: this machine's)")
    parser.add_argument("--memory", help="memory to offer, such as 8Gi (default: this machine's)")
    parser.add_argument("--pods", type=int, default=machine.MAX_PODS, help="most pods at a time")
    parser.add_argument("--port", type=int, default=0, help="port of the log endpoint (default: a free one)")
    parser.add_argument(
        "--client-ca-file", type=Path, help="authority of those who may read logs (default: the cluster's)"
    )
    parser.add_argument(
        "--cgroup-root",
        default="",
        help="cgroups of pods go below it as the kubelet's do (default: a place of its own)",
    )
    parser.add_argument("--simulated", type=int, default=0, metavar="N", help="simulated nodes to add")
    parser.add_argument("--simulated-cpu", default="8", help="CPUs of each simulated node")
    parser.add_argument("--simulated-memory", default="32Gi", help="memory of each simulated node")
    parser.add_argument("--simulated-pods", type=int, default=spec.DEFAULT_PODS, help="most pods of each of them")
    return parser.parse_args(argv)


def options_of(arguments: argparse.Namespace, settings: config.ClusterConfig) -> Options:
    for text in (arguments.memory, arguments.simulated_cpu, arguments.simulated_memory):
        if text is not None:
            quantity.parse(text)
    simulated = spec.uniform(
        arguments.simulated,
        quantity.canonical(arguments.simulated_cpu),
        arguments.simulated_memory,
        pods=arguments.simulated_pods,
    )
    return Options(
        name=arguments.name,
        data_dir=arguments.data_dir,
        server=settings.server,
        cpus=arguments.cpus,
        memory=arguments.memory,
        pods=arguments.pods,
        port=arguments.port,
        client_authority=arguments.client_ca_file or authorities_of(settings.ssl).encode() or None,
        cgroup_root=arguments.cgroup_root,
        simulated=simulated,
    )
