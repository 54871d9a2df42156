"""The one shape of these controllers: keys from informers, one `reconcile` at a time per key, failures come back later.

Neighbours: each controller of this package derives from `Controller`; `main` runs them.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, ClassVar

from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.kube.client import Client
from volcano.kube.errors import ApiError, Conflict, NotFound
from volcano.kube.workqueue import WorkQueue
from volcano.local.builtin.world import World

log = logging.getLogger(__name__)


class Controller(ABC):
    """`reconcile(key)` brings one object to where it should be; it may ask to be called again after some seconds."""

    name: ClassVar[str]
    workers: ClassVar[int] = 2

    def __init__(self, client: Client, world: World) -> None:
        self.client = client
        self.world = world
        self.queue: WorkQueue[str] = WorkQueue(base_seconds=0.05, max_seconds=60.0)

    @abstractmethod
    def connect(self) -> None:
        """Subscribe to the informers that matter."""

    @abstractmethod
    async def reconcile(self, key: str) -> float | None:
        """Act on one object; the seconds after which to look again, if any."""

    def _add(self, document: JsonObject) -> None:
        """Look at an object that a watch tells of."""
        self.queue.add(f"{document['metadata']['namespace']}/{document['metadata']['name']}")

    async def show(self, resource: Resource[Any], owner: JsonObject, status: JsonObject) -> None:
        """Write the status of an object, unless it has gone."""
        metadata = owner["metadata"]
        body = {"metadata": {"uid": metadata["uid"]}, "status": status}
        with suppress(NotFound):
            await self.client.patch(
                resource.untyped, metadata["name"], body, metadata["namespace"], subresource="status"
            )

    async def run(self) -> None:
        """Work on keys until cancelled. `connect` has been called and the world is synced."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self.workers):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                again = await self.reconcile(key)
                self.queue.forget(key)
                if again is not None:
                    self.queue.add_after(key, again)
            except Conflict:
                self.queue.add_rate_limited(key)  # the object changed meanwhile: look at it anew
            except (ApiError, OSError, TimeoutError) as error:
                log.warning("%s %s: %s; trying again", self.name, key, error)
                self.queue.add_rate_limited(key)
            except Exception:
                log.exception("%s %s failed; trying again", self.name, key)
                self.queue.add_rate_limited(key)
            finally:
                self.queue.done(key)
