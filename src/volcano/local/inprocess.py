"""A whole local cluster in one event loop, for notebooks and tests: the daemons' own run functions, side by side.

They talk to the API server by function calls; kubectl and other programs reach it over TLS as usual. Pods are
processes all the same. `cluster.py` has the command lines that both ways of running share.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from volcano.api import keys
from volcano.api.resources import QUEUES
from volcano.http.lifetime import LOG_FORMAT, loop_factory, stop_on_signals, until_stopped
from volcano.kube.client import Client
from volcano.kube.errors import NotFound
from volcano.kube.transport import InProcessTransport
from volcano.local.cluster import READY_SECONDS, LocalError, Options, api_server, claimed, daemons

if TYPE_CHECKING:
    from volcano.local.layout import Layout

Runner = Callable[[Client, list[str], asyncio.Event], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class InProcess:
    """A cluster that is up. `failed` ends with the exception of a daemon that gave up."""

    client: Client
    failed: asyncio.Task[None]


@asynccontextmanager
async def in_process(layout: Layout, options: Options) -> AsyncIterator[InProcess]:
    """Bring the cluster up, yield once it takes jobs, and stop its daemons at the end. Pods' processes go on."""
    from volcano.local.apiserver import main as apiserver
    from volcano.local.apiserver.storage.journal import StorageError, StorageUnavailable

    arguments = apiserver.parse_arguments(api_server(layout, options).argv)
    try:
        async with apiserver.serving(arguments) as api:

            def connect(name: str) -> Client:
                return Client(InProcessTransport(api.handle), user_agent=name)

            stop = asyncio.Event()
            work = [
                asyncio.create_task(
                    _RUNNERS[daemon.name](connect(daemon.name), list(daemon.argv), stop), name=daemon.name
                )
                for daemon in daemons(layout, options)
            ]
            failed = asyncio.create_task(_first_failure(work))
            try:
                client = connect("volcano")
                await _until_ready(client, failed)
                yield InProcess(client, failed)
            finally:
                stop.set()
                await asyncio.gather(*work, failed, return_exceptions=True)
    except (apiserver.StartupError, StorageUnavailable, StorageError) as error:
        raise LocalError(f"the API server could not start: {error}") from error


def run(layout: Layout, options: Options, ready: Callable[[], None]) -> None:
    """`cluster.run` in this process alone; its log is `cluster.log`. Raises LocalError."""
    with claimed(layout), asyncio.Runner(loop_factory=loop_factory()) as runner:
        logging.basicConfig(
            filename=layout.logs / "cluster.log",
            level=logging.INFO,
            format=LOG_FORMAT,
        )
        runner.run(_until_signal(layout, options, ready))


async def _until_signal(layout: Layout, options: Options, ready: Callable[[], None]) -> None:
    async with in_process(layout, options) as cluster:
        with stop_on_signals() as stop:
            ready()
            await until_stopped(stop, cluster.failed)


async def _until_ready(client: Client, failed: asyncio.Task[None]) -> None:
    ready = asyncio.create_task(_queue_is_settled(client))
    try:
        done, _ = await asyncio.wait({ready, failed}, timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ready.cancel()
    if failed in done:
        failed.result()
    if ready not in done:
        raise LocalError(f"waited {READY_SECONDS:.0f} s for queue {keys.DEFAULT_QUEUE} to be made and opened")


async def _queue_is_settled(client: Client) -> None:
    while True:
        try:
            queue = await client.get(QUEUES, keys.DEFAULT_QUEUE)
        except NotFound:
            queue = None
        if queue is not None and queue.status.state:
            return
        await asyncio.sleep(0.02)


async def _first_failure(work: list[asyncio.Task[None]]) -> None:
    """Wait for the daemons; raise what the first of them to fail raises."""
    for ended in asyncio.as_completed(work):
        await ended


# The daemons


async def _scheduler(client: Client, argv: list[str], stop: asyncio.Event) -> None:
    from volcano.kube import flags as command_line
    from volcano.scheduler.daemon.flags import Flags
    from volcano.scheduler.daemon.server import Scheduler

    await Scheduler(client, command_line.parse(Flags, argv, "vc-scheduler")).run(stop)


async def _controllers(client: Client, argv: list[str], stop: asyncio.Event) -> None:
    from volcano.controllers import manager
    from volcano.controllers.flags import Flags
    from volcano.kube import flags as command_line

    flags = command_line.parse(Flags, argv, manager.PROGRAM)
    flags.enable_healthz = flags.enable_metrics = False  # nobody asks: the process is its own health
    await manager.run(client, flags, stop)


async def _builtin(client: Client, argv: list[str], stop: asyncio.Event) -> None:
    from volcano.kube import config
    from volcano.local.builtin import main as builtin
    from volcano.local.node.certificates import authorities_of

    settings = config.load(argv[argv.index("--kubeconfig") + 1])
    await until_stopped(stop, asyncio.create_task(builtin.run(client, authority=authorities_of(settings.ssl))))


async def _node(client: Client, argv: list[str], stop: asyncio.Event) -> None:
    from volcano.kube import config
    from volcano.local.node import main as node

    arguments = node.parse_arguments(argv)
    await node.run(client, node.options_of(arguments, config.load(arguments.kubeconfig)), stop)


_RUNNERS: dict[str, Runner] = {
    "vc-scheduler": _scheduler,
    "vc-controller-manager": _controllers,
    "kube-controllers": _builtin,
    "node": _node,
}
