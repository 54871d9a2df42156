"""What waits for the next cycle: whole first views, then events, in the order in which they came."""

from __future__ import annotations

import asyncio
from typing import Any

from volcano.api.core import ResourceClaim
from volcano.api.meta import ObjectMeta
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import Ingest
from volcano.scheduler.daemon.ingest import Feed


class View:
    """An informer that has seen as much as the test says."""

    def __init__(self) -> None:
        self.seen = asyncio.Event()

    async def synced(self) -> None:
        await self.seen.wait()


def claim(name: str, version: str = "1") -> ResourceClaim:
    return ResourceClaim(metadata=ObjectMeta(name=name, namespace="default", resource_version=version))


def test_half_a_first_view_is_not_taken_in() -> None:
    async def scenario() -> None:
        cluster, nobody = Cluster(), object()
        feed = Feed(nobody, Ingest(cluster))  # type: ignore[arg-type]
        view: Any = View()
        feed.informers["resourceclaims"] = view
        handler: Any = feed._callbacks("resourceclaims", "resourceclaims")

        handler.on_add(claim("a"))
        assert feed.apply() == 0
        handler.on_add(claim("b"))
        view.seen.set()
        handler.on_update(claim("a"), claim("a", "2"))
        await feed._first_view("resourceclaims")

        assert feed.apply() == 3
        found = cluster.objects["resourceclaims"]
        assert found["default/a"].metadata.resource_version == "2"
        assert found.keys() == {"default/a", "default/b"}

    asyncio.run(scenario())


def test_a_first_view_without_later_events_is_taken_in_too() -> None:
    async def scenario() -> None:
        cluster, nobody = Cluster(), object()
        feed = Feed(nobody, Ingest(cluster))  # type: ignore[arg-type]
        view: Any = View()
        feed.informers["resourceclaims"] = view
        waiting = asyncio.create_task(feed._first_view("resourceclaims"))
        handler: Any = feed._callbacks("resourceclaims", "resourceclaims")
        handler.on_add(claim("a"))

        view.seen.set()
        await waiting

        assert feed.changed.is_set()
        assert feed.apply() == 1

    asyncio.run(scenario())
