"""`python -m volcano.local.apiserver`: the API server as a daemon, over TLS and a Unix socket of its owner.

Steps: open the database, make certificates, listen, write the kubeconfig, serve until SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import gc
import logging
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from volcano.http.lifetime import LOG_FORMAT, descriptors, loop_factory
from volcano.http.server import Limits, Server, serve
from volcano.http.tls import server_context
from volcano.local.apiserver import certificates, kubeconfig
from volcano.local.apiserver.access.authn import Authenticator, read_tokens
from volcano.local.apiserver.access.tokens import ServiceAccountTokens, signing_key
from volcano.local.apiserver.app import ApiServer, refusal
from volcano.local.apiserver.storage.journal import StorageError, StorageUnavailable
from volcano.local.apiserver.storage.store import Store

log = logging.getLogger("volcano.apiserver")

BODY_BYTES = 3 * 1024 * 1024
CONNECTIONS = 4096
SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


class StartupError(Exception):
    """The server cannot start; the message says why and what to do."""


def main(argv: list[str] | None = None) -> int:
    options = parse_arguments(argv)
    logging.basicConfig(level=options.log_level.upper(), format=LOG_FORMAT)
    try:
        _run(options)
    except (StartupError, StorageUnavailable, StorageError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="volcano.local.apiserver", description="A small Kubernetes API server.")
    parser.add_argument("--data-dir", type=Path, required=True, help="database, certificates and socket live here")
    parser.add_argument("--port", type=int, default=0, help="0: the port used last time, else a free one")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--allowed-host", action="append", default=[], help="another name clients may call the server by"
    )
    parser.add_argument("--kubeconfig", type=Path, help="write the administrator's kubeconfig to this file")
    parser.add_argument("--token-auth-file", type=Path, help='CSV of static tokens: token,user,uid,"groups"')
    parser.add_argument("--log-level", default="warning", choices=("debug", "info", "warning", "error"))
    return parser.parse_args(argv)


def _run(options: argparse.Namespace) -> None:
    descriptors(2 * CONNECTIONS)
    sys.setswitchinterval(0.001)  # the journal's thread must get its turn while requests keep this one busy
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(options))


async def _serve(options: argparse.Namespace) -> None:
    stop = _stop_signal()
    async with serving(options):
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 50, 100)
        await stop.wait()


@asynccontextmanager
async def serving(options: argparse.Namespace) -> AsyncIterator[ApiServer]:
    """The server that `options` describe, listening and answering; drained and closed at the end."""
    data: Path = options.data_dir
    store = Store.open(str(data / "state.db"))
    hosts = _hosts(options)
    pki = certificates.ensure(data / "pki", [*hosts, *SERVICE_NAMES])
    tokens = read_tokens(options.token_auth_file) if options.token_auth_file else {}
    accounts = ServiceAccountTokens(store, signing_key(data / "service-account.key"))
    api = ApiServer(store, Authenticator(tokens, accounts), accounts, frozenset((*hosts, *SERVICE_NAMES)), pki)
    await api.start()
    context = server_context(pki.certificate("server"), pki.key("server"), client_authority=pki.certificate("ca"))
    limits = Limits(body_bytes=BODY_BYTES, connections=min(CONNECTIONS, descriptors() // 2))
    listen = partial(serve, api.handle, limits=limits, answer_to=refusal)
    try:
        server = await _listen(options, partial(listen, host=options.host, ssl=context))
    except StartupError:
        await api.close()
        raise
    (data / "port").write_text(f"{server.port}\n")
    address = f"https://{_url_host(options.host)}:{server.port}"
    if options.kubeconfig:
        kubeconfig.write(options.kubeconfig, pki, address)
    # Last: whoever waits for this socket may then use the kubeconfig and the port.
    socket = await listen(unix_path=str(data / "api.sock"))
    log.info("serving on %s and %s", address, data / "api.sock")
    try:
        yield api
    finally:
        api.stop_watches()
        await asyncio.gather(server.close(), socket.close())
        await api.close()


async def _listen(options: argparse.Namespace, listen: Callable[..., Awaitable[Server]]) -> Server:
    """On the port asked for; without one, on last time's, so that kubeconfigs stay valid over restarts."""
    asked: int = options.port
    last = _last_port(options.data_dir) if not asked else 0
    for port in (asked,) if asked else (last, 0):
        try:
            return await listen(port=port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise StartupError(f"cannot listen on {options.host}:{port}: {error}") from error
            if asked:
                raise StartupError(
                    f"port {port} on {options.host} is in use by another program: "
                    "stop that one, or choose another --port (0 finds a free one)"
                ) from error
    raise StartupError(f"no free port on {options.host}")


def _last_port(data: Path) -> int:
    try:
        return int((data / "port").read_text())
    except (OSError, ValueError):
        return 0


def _hosts(options: argparse.Namespace) -> list[str]:
    hosts = ["127.0.0.1", "localhost", "::1", *options.allowed_host]
    if options.host not in ("", "0.0.0.0", "::", *hosts):
        hosts.append(options.host)
    return hosts


def _url_host(host: str) -> str:
    if host in ("", "0.0.0.0", "::"):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop
