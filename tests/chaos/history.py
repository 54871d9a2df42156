"""What the API server says happened: every change of the objects of a namespace, in the order of its versions."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.kube_cluster.background import Background
from volcano.api.resources import JOBS, PODGROUPS, PODS, Resource
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.errors import ApiError, Gone
from volcano.kube.transport import HttpTransport

if TYPE_CHECKING:
    from pathlib import Path

KINDS = (PODS, PODGROUPS, JOBS)
PAUSE_SECONDS = 0.1


@dataclass(frozen=True)
class Change:
    """`at` is when we heard of it, in seconds of the monotonic clock."""

    version: int
    at: float
    kind: str
    gone: bool
    object: dict[str, Any]

    @property
    def uid(self) -> str:
        return str(self.object["metadata"]["uid"])

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])


class Recorder(Background):
    """Watches while the cluster lives, resuming where it was whenever the API server is back."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        super().__init__()
        self.gaps = 0
        """How often the server had forgotten what happened since: what is between is not known."""
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        self._changes: list[Change] = []

    def changes(self) -> list[Change]:
        return sorted(self._changes, key=lambda change: change.version)

    async def _work(self) -> None:
        watches = [asyncio.create_task(self._follow(kind)) for kind in KINDS]
        await asyncio.to_thread(self._stop.wait)
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)

    async def _follow(self, kind: Resource[Any]) -> None:
        client = Client(HttpTransport(config.load(str(self._kubeconfig))), user_agent="recorder")
        version: str | None = None
        try:
            while True:
                with suppress(ApiError, OSError, TimeoutError):
                    try:
                        version = await self._watched(client, kind, version)
                    except Gone:
                        self.gaps += 1
                        version = None
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            await client.close()

    async def _watched(self, client: Client, kind: Resource[Any], version: str | None) -> str:
        """Follow one stream to its end; the version to go on from."""
        if version is None:
            listing = await client.list(kind.untyped, self._namespace)
            for item in listing.items:
                self._note(kind, item, gone=False)
            version = listing.resource_version
        with suppress(OSError, TimeoutError):
            async with aclosing(client.watch(kind.untyped, self._namespace, resource_version=version)) as events:
                async for event in events:
                    version = event.object["metadata"]["resourceVersion"]
                    if event.type != "BOOKMARK":
                        self._note(kind, event.object, gone=event.type == "DELETED")
        return version

    def _note(self, kind: Resource[Any], item: dict[str, Any], *, gone: bool) -> None:
        version = int(item["metadata"]["resourceVersion"])
        self._changes.append(Change(version, time.monotonic(), kind.plural, gone, item))
