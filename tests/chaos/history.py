"""What happened, as the API server wrote it down: every change of the objects of a namespace, in the order of versions.

Read from etcd, which remembers what a restarted API server has forgotten. `OPTIONS` are for that server: it writes what
can be read, and lets nothing be forgotten.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.kube_cluster.background import Background
from volcano.api.resources import JOBS, PODGROUPS, PODS, Resource
from volcano.http.client import Endpoint, HttpClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

OPTIONS = ("--storage-media-type=application/json", "--etcd-compaction-interval=0")
KINDS = (PODS, PODGROUPS, JOBS)
PAUSE_SECONDS = 0.1
REST_SECONDS = 1.0
"""At the end, for what is on its way."""


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


@dataclass(frozen=True)
class Lost:
    """The history before this version is not known any more."""

    version: int


class Recorder(Background):
    """Watches while the cluster lives, resuming where it was whenever etcd is back."""

    def __init__(self, etcd: str, namespace: str) -> None:
        super().__init__()
        self.gaps: list[str] = []
        """What could not be seen: kinds, and between which versions."""
        self._etcd = urlsplit(etcd)
        self._namespace = namespace
        self._changes: list[Change] = []

    def changes(self) -> list[Change]:
        return sorted(self._changes, key=lambda change: change.version)

    async def _work(self) -> None:
        watches = [asyncio.create_task(self._follow(kind)) for kind in KINDS]
        await asyncio.to_thread(self._stop.wait)
        await asyncio.sleep(REST_SECONDS)
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)

    async def _follow(self, kind: Resource[Any]) -> None:
        client = HttpClient(Endpoint(self._etcd.hostname or "", self._etcd.port or 0))
        version = 1
        try:
            while True:
                with suppress(OSError, TimeoutError):
                    async for line in watched(client, prefix_of(kind, self._namespace), version):
                        for found in told(line, kind.plural, time.monotonic()):
                            if isinstance(found, Lost):
                                self.gaps.append(f"{kind.plural} from version {version} to {found.version}")
                            else:
                                self._changes.append(found)
                            version = found.version if isinstance(found, Lost) else found.version + 1
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            await client.close()


def prefix_of(kind: Resource[Any], namespace: str) -> str:
    """Where the API server keeps the objects of a namespace."""
    group = f"{kind.group}/" if kind.group else ""
    return f"/registry/{group}{kind.plural}/{namespace}/"


async def watched(client: HttpClient, prefix: str, version: int) -> AsyncIterator[bytes]:
    """The lines of one stream of etcd's JSON gateway, from a version on."""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    keys = {"key": encoded(prefix), "range_end": encoded(end), "start_revision": version, "prev_kv": True}
    body = json.dumps({"create_request": keys}).encode()
    async with client.stream("POST", "/v3/watch", body=body) as answer:
        rest = b""
        async for chunk in answer:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line


def told(line: bytes, plural: str, at: float) -> Iterator[Change | Lost]:
    """What a line of a watch says. Of what is gone it tells the last state."""
    result = json.loads(line).get("result", {})
    if result.get("compact_revision"):
        yield Lost(int(result["compact_revision"]))
    for event in result.get("events", ()):
        gone = event.get("type") == "DELETE"
        holder = event.get("prev_kv") if gone else event["kv"]
        if holder is not None:
            found = json.loads(base64.b64decode(holder["value"]))
            yield Change(int(event["kv"]["mod_revision"]), at, plural, gone, found)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
