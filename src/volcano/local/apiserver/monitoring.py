"""Health and metrics of the server itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from volcano.http.message import Response
from volcano.http.metrics import Registry as Metrics

if TYPE_CHECKING:
    from volcano.http.message import Request
    from volcano.local.apiserver.storage.store import Store

_TEXT = {"content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff"}
_PROBES = ("healthz", "livez", "readyz")
_CHECKS = ("ping", "storage")


class Monitor:
    """Counts requests, renders metrics, answers probes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.registry = Metrics()
        self._requests = self.registry.counters(
            "apiserver_request_total", "Requests by verb, resource and HTTP code.", "verb", "resource", "code"
        )
        self._seconds = self.registry.counters(
            "apiserver_request_seconds_total", "Time spent on requests, watches not counted.", "verb", "resource"
        )
        objects = self.registry.gauges("apiserver_storage_objects", "Stored objects by resource.", "resource")
        watchers = self.registry.gauges("apiserver_registered_watchers", "Open watches by resource.", "resource")
        revision = self.registry.gauge("apiserver_storage_revision", "The newest durable resource version.")

        def refresh() -> None:
            revision.set(store.durable)
            for collection in store.collections():
                objects.labels(collection.name).set(len(collection.entries))
                watchers.labels(collection.name).set(len(collection.listeners))

        self.registry.before_scrape(refresh)

    def count(self, verb: str, resource: str, code: int, started: float) -> None:
        self._requests.labels(verb, resource, str(code)).inc()
        if verb != "watch":
            self._seconds.labels(verb, resource).inc(time.perf_counter() - started)

    def metrics(self) -> Response:
        return Response(200, {"content-type": "text/plain; version=0.0.4; charset=utf-8"}, self.registry.render())

    def probe(self, request: Request) -> Response | None:
        """The answer to /healthz, /livez and /readyz, alone or with the name of one check; None for other paths."""
        _, probe, *rest = request.path.split("/", 2)
        check = rest[0] if rest else ""
        if probe not in _PROBES or (rest and check not in _CHECKS):
            return None
        trouble = self._store.trouble
        if check == "ping" or trouble is None:
            verbose = request.param("verbose") is not None and not check
            lines = [f"[+]{name} ok" for name in _CHECKS] + [f"{probe} check passed\n"]
            return Response(200, dict(_TEXT), "\n".join(lines).encode() if verbose else b"ok")
        text = f"[+]ping ok\n[-]storage failed: {trouble}\n{probe} check failed\n"
        return Response(500, dict(_TEXT), text.encode())
