"""The two queues that must exist before anything can be scheduled: `root`, and the default one."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from volcano.api.meta import ObjectMeta
from volcano.api.resources import QUEUES
from volcano.api.scheduling import Queue, QueueSpec
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists, ApiError, NotFound
from volcano.scheduler.cluster.queues import ROOT

log = logging.getLogger(__name__)

ATTEMPTS: Final = 60
PAUSE_SECONDS: Final = 1.0


class QueuesMissingError(RuntimeError):
    """The API server does not take the queues; the message says what it answered."""


async def ensure(client: Client, default_queue: str, *, pause_seconds: float = PAUSE_SECONDS) -> None:
    """Create them where they are missing, patiently: webhooks and CRDs may come up after us."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            await _ensure(client, ROOT, reclaimable=False)
            await _ensure(client, default_queue, reclaimable=True)
        except (ApiError, OSError, TimeoutError) as problem:
            if attempt == ATTEMPTS:
                raise QueuesMissingError(
                    f"queues {ROOT!r} and {default_queue!r} cannot be created: {problem}; "
                    "are Volcano's CRDs installed, and may this scheduler create queues?"
                ) from problem
            log.warning("queues %s and %s are not there yet: %s", ROOT, default_queue, problem)
            await asyncio.sleep(pause_seconds)
        else:
            return


async def _ensure(client: Client, name: str, *, reclaimable: bool) -> None:
    try:
        await client.get(QUEUES, name)
    except NotFound:
        queue = Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(weight=1, reclaimable=reclaimable))
        try:
            await client.create(QUEUES, queue)
        except AlreadyExists:
            return
        log.info("queue %s was created", name)
