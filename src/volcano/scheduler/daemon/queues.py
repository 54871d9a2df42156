"""The two queues that must exist before anything can be scheduled: `root`, and the default one."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from volcano.api.installed import required_queues
from volcano.api.resources import QUEUES
from volcano.api.scheduling import Queue
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists, ApiError, NotFound
from volcano.scheduler.cluster.queues import ROOT

log = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 30.0


class RequiredQueues:
    """`ensure` goes on until they exist: webhooks, CRDs and rights may come after us. `problem` is why they do not."""

    def __init__(self, client: Client, default_queue: str) -> None:
        self.problem: str | None = None
        self._client = client
        self._default_queue = default_queue

    async def ensure(self) -> None:
        """Create them where they are missing."""
        pause = PAUSE_SECONDS
        while True:
            try:
                for queue in required_queues(self._default_queue):
                    await _ensure(self._client, queue)
            except (ApiError, OSError) as problem:
                self.problem = f"queues {ROOT} and {self._default_queue} cannot be made sure of: {problem}"
                log.warning("%s", self.problem)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            else:
                self.problem = None
                return


async def _ensure(client: Client, queue: Queue) -> None:
    try:
        await client.get(QUEUES, queue.metadata.name)
    except NotFound:
        try:
            await client.create(QUEUES, queue)
        except AlreadyExists:
            return
        log.info("queue %s was created", queue.metadata.name)
