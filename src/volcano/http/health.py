"""The endpoints every daemon has: /healthz, /livez, /readyz and /metrics.

A handler for `server.serve`; checks are plain functions, metrics come from `metrics`.
"""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from ssl import SSLContext
from typing import Protocol

from volcano.http.callers import for_known_callers
from volcano.http.expiry import Validity, last_validity_of, utc_now, validity_of
from volcano.http.following import Followed
from volcano.http.message import Handler, Request, Response
from volcano.http.metrics import CONTENT_TYPE
from volcano.http.server import Limits, Server, serve
from volcano.http.tls import authorities_in, live_context, server_context

PROBES = ("", "healthz", "livez", "readyz")
Check = Callable[[], str | Awaitable[str | None] | None]
"""Says what is wrong, or None when all is well."""


class Measured(Protocol):
    """Mostly a registry."""

    def render(self) -> bytes: ...


class HealthApp:
    """Answers health probes from named checks, and metrics from registries.

    `alive` decides /healthz and /livez, `ready` (with `alive`) decides /readyz; `remarks` are told there (?verbose),
    and decide nothing; `routes` adds the daemon's own paths.
    """

    def __init__(
        self,
        *registries: Measured,
        alive: Mapping[str, Check] | None = None,
        ready: Mapping[str, Check] | None = None,
        remarks: Mapping[str, Check] | None = None,
        routes: Mapping[str, Handler] | None = None,
    ) -> None:
        self.registries = registries
        self.alive: dict[str, Check] = {"ping": lambda: None, **(alive or {})}
        self.ready: dict[str, Check] = dict(ready or {})
        self.remarks: dict[str, Check] = dict(remarks or {})
        self.routes: dict[str, Handler] = dict(routes or {})

    async def __call__(self, request: Request) -> Response:
        route = self.routes.get(request.path)
        if route is not None:
            return await route(request)
        if request.method not in ("GET", "HEAD"):
            return text(405, "only GET and HEAD are answered here\n")
        if request.path == "/metrics" and self.registries:
            text_of_all = b"".join(registry.render() for registry in self.registries)
            return Response(200, {"content-type": CONTENT_TYPE}, text_of_all)
        probe, _, check = request.path.strip("/").partition("/")
        if probe in ("healthz", "livez"):
            return await self._probe(request, probe, self.alive, check)
        if probe == "readyz":
            return await self._probe(request, probe, {**self.alive, **self.ready}, check)
        if probe == "":
            paths = ["/healthz", "/livez", "/readyz", *(["/metrics"] if self.registries else []), *self.routes]
            return text(200, "\n".join([*sorted(paths), ""]))
        return text(404, f"{request.path} is not served here\n")

    async def _probe(self, request: Request, probe: str, checks: Mapping[str, Check], only: str) -> Response:
        excluded = set(request.params("exclude"))
        chosen = {name: check for name, check in checks.items() if name not in excluded and only in ("", name)}
        if only and not chosen:
            return text(404, f"{probe} has no check called {only}\n")
        lines, failed = [], False
        for name, check in chosen.items():
            problem = await outcome(check)
            failed = failed or problem is not None
            lines.append(f"[+]{name} ok" if problem is None else f"[-]{name} failed: {problem}")
        if probe == "readyz" and not only:
            noted = [(name, await outcome(check)) for name, check in self.remarks.items()]
            lines += [f"[!]{name}: {remark}" for name, remark in noted if remark is not None]
        if failed:
            return text(500, "\n".join([*lines, f"{probe} check failed", ""]))
        if request.param("verbose") is not None:
            return text(200, "\n".join([*lines, f"{probe} check passed", ""]))
        return text(200, "ok")


async def outcome(check: Check) -> str | None:
    """What a check says; one that raises has failed."""
    try:
        said = check()
        return await said if inspect.isawaitable(said) else said
    except Exception as error:  # noqa: BLE001 - the probe's answer carries it
        return f"{type(error).__name__}: {error}"


async def serve_health(app: HealthApp, address: str, papers: Papers | None = None) -> Server:
    """Serve `app` on a flag's address such as `:8080` or `127.0.0.1:0`; on TLS where there are papers to show.

    Whoever shows no certificate there is told about health alone: kubelets have none.
    """
    context = None
    handler: Handler = app
    if papers is not None:
        context = papers.context()
        handler = for_known_callers(app, but_for=PROBES)
        app.remarks["certificate"] = papers.problem
    host, port = parse_address(address)
    return await serve(handler, host=host, port=port, ssl=context, limits=Limits(body_bytes=64 * 1024))


class Papers:
    """The files of a health address: the certificate that it shows, its key, and the authority of its callers.

    Replaced ones are shown and asked for on the connections after; `problem` says what is the matter with them.
    """

    def __init__(
        self, certificate: Path, key: Path, authority: Path, clock: Callable[[], datetime.datetime] = utc_now
    ) -> None:
        self._files = (certificate, key, authority)
        self._clock = clock
        self._followed = Followed.files(self._files, self._read, OSError, ValueError)

    @classmethod
    def of(cls, certificate: str, key: str, authority: str) -> Papers | None:
        """Those that a command line names; None unless it names all three."""
        return cls(Path(certificate), Path(key), Path(authority)) if certificate and key and authority else None

    def context(self) -> SSLContext:
        return live_context(lambda: self._followed.look().context)

    def problem(self) -> str | None:
        """What somebody has to put right, or will have to soon."""
        found, now = self._followed.look(), self._clock()
        remarks = (validity.remark(what, now) for what, validity in found.validities.items())
        return "; ".join(filter(None, (self._followed.problem, *remarks))) or None

    def _read(self) -> _Read:
        certificate, key, authority = self._files
        clients = authorities_in(authority)
        try:
            context = server_context(certificate, key, client_authority=clients)
            shown = validity_of(certificate.read_bytes())
        except (OSError, ValueError) as error:
            raise ValueError(f"{certificate} and {key} cannot be used: {error}") from error
        named = {f"certificate {certificate}": shown, f"authority {authority}": last_validity_of(clients)}
        return _Read(context, named)


@dataclass(frozen=True, slots=True)
class _Read:
    """What was in the files, and until when each certificate is good."""

    context: SSLContext
    validities: Mapping[str, Validity]


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port`, `[v6]:port` or `:port` (all interfaces)."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{address!r} is not an address: write host:port or :port")
    return host.strip("[]") or "0.0.0.0", int(port)


def text(status: int, body: str) -> Response:
    return Response(status, {"content-type": "text/plain; charset=utf-8"}, body.encode())
