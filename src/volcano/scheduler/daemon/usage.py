"""How busy nodes are, asked of a monitor at the configured interval and handed to the engine between its cycles."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from volcano.api import duration
from volcano.http.client import HttpError
from volcano.kube.client import Client
from volcano.kube.errors import ApiError
from volcano.scheduler.cluster.ingest import Ingest
from volcano.scheduler.cluster.usage import Measured, NodeUsage
from volcano.scheduler.daemon.ingest import Feed
from volcano.scheduler.daemon.monitors import Monitor, MonitorError, monitor

log = logging.getLogger(__name__)

DEFAULT_INTERVAL_SECONDS: Final = 30.0
Settings = Callable[[], Mapping[str, str]]
"""The `metrics` section of the configuration in force."""


class UsagePoller:
    def __init__(self, client: Client, feed: Feed, settings: Settings) -> None:
        self._client = client
        self._feed = feed
        self._settings = settings
        self._monitor: Monitor | None = None
        self._used: Mapping[str, str] = {}

    async def run(self) -> None:
        """Until cancelled. Without a monitor in the configuration there is nothing to do but to look again."""
        while True:
            settings = self._settings()
            try:
                await self._poll(settings)
            except (MonitorError, HttpError, ApiError, OSError, TimeoutError) as problem:
                log.warning("the load of nodes is not known: %s", problem)
            except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as problem:
                log.warning("the monitor's answer about the load of nodes cannot be understood: %r", problem)
            await asyncio.sleep(_interval(settings))

    async def _poll(self, settings: Mapping[str, str]) -> None:
        if settings != self._used:
            if self._monitor is not None:
                await self._monitor.close()
            self._monitor, self._used = None, settings
            self._monitor = monitor(settings, self._client)
        if self._monitor is not None:
            measured = await self._monitor.measure()
            self._feed.call(lambda ingest: _put(ingest, measured))


def _put(ingest: Ingest, measured: Mapping[str, Measured]) -> None:
    usage = ingest.cluster.index(NodeUsage)
    for node, load in measured.items():
        usage.put(node, load)


def _interval(settings: Mapping[str, str]) -> float:
    try:
        return max(duration.parse_seconds(settings.get("interval", "")), 1.0)
    except duration.DurationError:
        return DEFAULT_INTERVAL_SECONDS
