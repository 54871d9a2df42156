"""vc-webhook-manager: follow the world, serve the rules over HTTPS, keep certificate and registration current.

`options` has the flags, `server` the endpoints, `identity` the certificate, `registration` what the API server knows.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

import msgspec

from volcano import __version__
from volcano.http.callers import for_known_callers
from volcano.http.following import Followed
from volcano.http.health import HealthApp, serve_health
from volcano.http.lifetime import LOG_FORMAT, loop_factory, stop_on_signals, until_stopped
from volcano.http.message import Handler, Request, Response
from volcano.http.metrics import Registry
from volcano.http.process import process_metrics
from volcano.http.server import Limits, Server, serve
from volcano.kube.client import Client
from volcano.kube.complaints import Complaints
from volcano.kube.config import ConfigError, load
from volcano.kube.errors import ApiError
from volcano.kube.events import EventRecorder
from volcano.kube.transport import HttpTransport
from volcano.kube.versions import ServerVersion
from volcano.webhooks.groups import Groups, followed
from volcano.webhooks.identity import FileIdentity, IdentitySource, OwnIdentity, SecretIdentity
from volcano.webhooks.options import Options, parse
from volcano.webhooks.presence import Presence
from volcano.webhooks.registration import Registrar
from volcano.webhooks.rules import Settings
from volcano.webhooks.server import Webhooks
from volcano.webhooks.world import WatchedWorld

log = logging.getLogger(__name__)

PROGRAM = "vc-webhook-manager"
REFRESH_SECONDS = 5.0
LIMITS = Limits(body_bytes=3 * 1024 * 1024, head_seconds=5.0, body_seconds=30.0, write_seconds=60.0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT. Anything that prevents the start is the last line on standard error."""
    try:
        options = parse(sys.argv[1:] if argv is None else argv)
        if options.version:
            sys.stdout.write(f"{PROGRAM} {__version__}\n")
            return 0
        logging.basicConfig(
            level=logging.DEBUG if options.verbosity >= 4 else logging.INFO,
            format=LOG_FORMAT,
            stream=sys.stderr,
        )
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_run_until_signal(options))
    except (ValueError, ConfigError, ApiError, OSError) as error:
        sys.stderr.write(f"{PROGRAM}: {error}\n")
        return 1
    return 0


async def _run_until_signal(options: Options) -> None:
    client = Client(HttpTransport(load(options.kubeconfig, master=options.master)), user_agent=PROGRAM)
    try:
        with stop_on_signals() as stop:
            await run(client, options, stop)
    finally:
        await client.close()


async def run(
    client: Client, options: Options, stop: asyncio.Event, serving: Callable[[int], None] = lambda _port: None
) -> None:
    """The daemon on a client of its own or of its host, until `stop`. `serving` is told the HTTPS port."""
    registry = Registry("volcano_")
    groups = followed(options.admission_conf) if options.admission_conf is not None else None
    world = WatchedWorld(client, namespaces=any(rule.path == "/podgroups/mutate" for rule in options.rules))
    names = options.settings.scheduler_names
    registrar = Registrar(client, options.rules, options.endpoint, names, options.controllers, create=options.register)
    presence = Presence(identity_source(client, options), registrar, client_authority=options.client_authority)
    webhooks = Webhooks(options.rules, world, lambda: with_groups(options.settings, groups), registry, world.current)
    recorder = EventRecorder(client, PROGRAM)
    complaints = Complaints(recorder, options.endpoint.reference())
    version = ServerVersion(client, complaints)

    def complaint() -> str | None:
        unread = groups.problem if groups is not None else None
        return "; ".join(filter(None, (world.complaint(), presence.complaint(), unread))) or None

    def leaving() -> str | None:
        return "shutting down" if stop.is_set() else None

    ready = {"informers": world.problem, "registration": presence.problem, "shutdown": leaving}
    remarks = {"version": version.remark, "complaint": complaint}
    measured = HealthApp(registry, process_metrics(), ready=ready, remarks=remarks)
    probes = measured if options.client_authority is None else HealthApp(ready=ready, remarks=remarks)

    async with AsyncExitStack() as cleanup:
        if options.health_address is not None:
            health = await serve_health(probes, options.health_address)
            cleanup.push_async_callback(health.close, 1.0)
        watches = [asyncio.create_task(watch) for watch in world.watches()]
        told = [recorder.run(), complaints.follow(complaint), version.look()]
        cleanup.callback(cancel, [*watches, *(asyncio.create_task(each) for each in told)])
        await world.synced()
        context = await presence.context()
        handle = webhooks.handle if options.client_authority is None else for_known_callers(either(webhooks, measured))
        server = await serve(handle, host=options.host, port=options.port, ssl=context, limits=LIMITS)
        cleanup.push_async_callback(server.close, options.graceful_seconds)
        log.info("serving %s on port %d", ", ".join(rule.path for rule in options.rules), server.port)
        serving(server.port)
        kept = [presence.keep(), *([refresh(groups)] if groups is not None else [])]
        gone = asyncio.Event()
        kept.append(farewell(stop, server, options.delay_seconds, gone))
        await until_stopped(gone, *(asyncio.create_task(each) for each in kept), *watches)


async def farewell(stop: asyncio.Event, server: Server, seconds: float, gone: asyncio.Event) -> None:
    """When told to stop: for a while go on as ever, for whoever has not yet heard that others are to be asked."""
    await stop.wait()
    server.retire()
    await asyncio.sleep(seconds)
    gone.set()


def either(webhooks: Webhooks, measured: HealthApp) -> Handler:
    """The webhooks, and at /metrics what is measured of them."""

    async def handle(request: Request) -> Response:
        return await (measured(request) if request.path == "/metrics" else webhooks.handle(request))

    return handle


async def refresh(groups: Followed[Groups]) -> None:
    while True:
        await asyncio.sleep(REFRESH_SECONDS)
        groups.look()


def with_groups(settings: Settings, groups: Followed[Groups] | None) -> Settings:
    if groups is None or groups.value is None:
        return settings
    return msgspec.structs.replace(settings, resource_groups=groups.value)


def cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()


def identity_source(client: Client, options: Options) -> IdentitySource:
    if options.certificate_files is not None:
        return FileIdentity(*options.certificate_files)
    hosts = options.endpoint.hosts()
    if options.endpoint.url:
        return OwnIdentity(hosts)
    return SecretIdentity(client, options.endpoint.namespace, hosts, name=options.secret_name)


if __name__ == "__main__":
    sys.exit(main())
