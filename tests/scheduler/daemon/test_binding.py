"""What becomes of evictions that the API server does not carry out."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from volcano.api.core import Pod
from volcano.api.meta import ObjectMeta
from volcano.kube.client import Client
from volcano.kube.errors import Conflict
from volcano.kube.events import EventRecorder
from volcano.scheduler.daemon.binding import Outbox
from volcano.scheduler.daemon.ingest import Feed
from volcano.scheduler.daemon.metrics import Metrics
from volcano.scheduler.framework.decisions import Eviction


class Server:
    """Answers every write of its only pod with a conflict; notes what is handed to the engine."""

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.told: list[Any] = []

    async def patch(self, *_request: Any, **_options: Any) -> None:
        raise Conflict("the object has been modified", status=409)

    async def get(self, *_request: Any) -> Pod:
        return Pod(metadata=ObjectMeta(name="p", namespace="default", uid=self.uid))

    def call(self, function: Any) -> None:
        self.told.append(function)

    def store(self, _plural: str) -> dict[str, Any]:
        return {}

    def record_on(self, *_words: Any) -> None:
        """Events are none of this test's business."""


@pytest.mark.parametrize(("uid", "refusals"), [("u", 1), ("another", 0)], ids=["still there", "replaced"])
def test_a_conflict_means_that_the_pod_has_gone_only_if_it_has(uid: str, refusals: int) -> None:
    async def story() -> None:
        server = Server(uid)
        client, feed, recorder = cast("Client", server), cast("Feed", server), cast("EventRecorder", server)
        outbox = Outbox(client, feed, recorder, Metrics(), on_bind_failed=lambda *_: None)
        carrying_out = asyncio.create_task(outbox.run())
        outbox.send([Eviction("u", "default", "p", "n", "default/train", "preempt")])
        await outbox.drain()
        carrying_out.cancel()
        assert len(server.told) == refusals

    asyncio.run(story())
