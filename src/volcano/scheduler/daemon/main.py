"""`vc-scheduler`: read the flags, reach the API server, serve health and metrics, schedule until told to stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volcano.http.message import Request, Response
    from volcano.http.server import Server
    from volcano.scheduler.daemon.flags import Flags
    from volcano.scheduler.daemon.server import Scheduler

PROGRAM = "vc-scheduler"
log = logging.getLogger(PROGRAM)


def main(argv: list[str] | None = None) -> int:
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # the engine is one thread; idle pools would only cost memory
    from volcano.http.lifetime import LOG_FORMAT, loop_factory
    from volcano.http.server import ListenError
    from volcano.kube import flags as command_line
    from volcano.kube.config import ConfigError
    from volcano.scheduler.daemon.flags import Flags
    from volcano.scheduler.framework.conf import ConfError
    from volcano.scheduler.framework.registry import RegistryError

    try:
        flags = command_line.parse(Flags, sys.argv[1:] if argv is None else argv, PROGRAM)
        if flags.version:
            from volcano import __version__

            sys.stdout.write(f"{PROGRAM} {__version__}\n")
            return 0
        level = logging.DEBUG if flags.verbosity >= 4 else logging.INFO
        logging.basicConfig(level=level, format=LOG_FORMAT)
        for remark in flags.remarks():
            log.warning("%s", remark)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(flags))
    except (
        command_line.FlagError,
        ConfError,
        ConfigError,
        ListenError,
        RegistryError,
        ValueError,
    ) as problem:
        sys.stderr.write(f"{PROGRAM}: {problem}\n")
        return 1
    return 0


async def _serve(flags: Flags) -> None:
    from volcano.http.lifetime import stop_on_signals
    from volcano.http.resting import resting_in_a_rush
    from volcano.kube.client import Client
    from volcano.kube.config import load
    from volcano.kube.transport import HttpTransport
    from volcano.scheduler.daemon.server import Scheduler

    client = Client(HttpTransport(load(flags.kubeconfig or None, None, flags.master or None)), user_agent=PROGRAM)
    scheduler = Scheduler(client, flags)
    servers = await listen(scheduler, flags)
    if flags.cache_dumper:
        _dump_on_signal(scheduler)
    try:
        with stop_on_signals() as stop:
            async with resting_in_a_rush():
                await scheduler.run(stop)
    finally:
        for server in servers:
            await server.close(grace_seconds=1.0)
        await client.close()


def _dump_on_signal(scheduler: Scheduler) -> None:
    loop = asyncio.get_running_loop()
    under_way: set[asyncio.Task[tuple[int, str]]] = set()

    def dump() -> None:
        task = loop.create_task(_dump(scheduler))
        under_way.add(task)  # or the loop might forget it
        task.add_done_callback(under_way.discard)

    loop.add_signal_handler(signal.SIGUSR1, dump)


async def _dump(scheduler: Scheduler) -> tuple[int, str]:
    """HTTP's status, and where the file is or why there is none."""
    try:
        return 200, f"{await scheduler.dump()}\n"
    except OSError as problem:
        message = f"the scheduler's input was not written: {problem} (--cache-dump-dir)"
        log.error("%s", message)
        return 500, f"{message}\n"


async def listen(scheduler: Scheduler, flags: Flags) -> list[Server]:
    """Metrics and health, before anything else: standbys answer too."""
    from volcano.http.health import HealthApp, Papers, serve_health, text
    from volcano.http.process import process_metrics

    alive = {"leader-election": scheduler.elector.health} if scheduler.elector else {}

    async def dump(_request: Request) -> Response:
        return text(*await _dump(scheduler))

    app = HealthApp(
        scheduler.metrics.registry,
        process_metrics(),
        alive=alive,
        ready={"scheduler": scheduler.is_ready},
        remarks={
            "version": scheduler.server_version.remark,
            "rivals": scheduler.rivals.problem,
            "vanished": scheduler.vanished.remark,
            **({"lease": scheduler.elector.problem} if scheduler.elector else {}),
        },
        routes={"/debug/dump": dump} if flags.cache_dumper else None,
    )
    servers = []
    if flags.enable_metrics:
        servers.append(await serve_health(app, flags.listen_address))
        log.info("metrics on port %d", servers[-1].port)
    if flags.enable_healthz:
        papers = Papers.of(flags.tls_cert_file, flags.tls_private_key_file, flags.ca_cert_file)
        if papers is not None:
            scheduler.also_tell(papers.problem)
        servers.append(await serve_health(app, flags.healthz_address, papers))
        log.info("health on port %d", servers[-1].port)
    return servers


if __name__ == "__main__":
    sys.exit(main())
