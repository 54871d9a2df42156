"""The world of the rules as informers see it: queues, and the annotations of namespaces."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

from volcano.api.core import Namespace
from volcano.api.resources import NAMESPACES, QUEUES
from volcano.api.scheduling import Queue
from volcano.kube.client import Client
from volcano.kube.errors import ApiError
from volcano.kube.informer import Callbacks, Informer
from volcano.webhooks.rules.worlds import ListedWorld

LIST_SECONDS = 3.0
"""How long the server may take to list its queues: whoever asked a webhook waits meanwhile, ten seconds at most."""

REST_SHARE = 4.0
"""After a list nobody lists again for so many times as long as it took: a flood of refusals is none of lists."""
LONGEST_REST_SECONDS = 0.5


class WatchedWorld(ListedWorld):
    """A `ListedWorld` that follows the API server while its `watches` run."""

    def __init__(self, client: Client, *, namespaces: bool) -> None:
        super().__init__()
        self._client = client
        self._listing = asyncio.Lock()
        self._current: ListedWorld = self
        self._current_since = 0.0
        self._rests_until = 0.0
        on_queue = Callbacks[Queue](
            add=self.put_queue,
            update=lambda _, queue: self.put_queue(queue),
            delete=lambda queue: self.remove_queue(queue.metadata.name),
        )
        self._informers: list[Informer[Any]] = [Informer(client, QUEUES, handler=on_queue)]
        if namespaces:
            on_namespace = Callbacks[Namespace](
                add=self._put_namespace,
                update=lambda _, namespace: self._put_namespace(namespace),
                delete=lambda namespace: self.remove_namespace(namespace.metadata.name),
            )
            self._informers.append(Informer(client, NAMESPACES, handler=on_namespace))

    def watches(self) -> list[Coroutine[Any, Any, None]]:
        """To be run side by side for as long as the world is used."""
        return [informer.run() for informer in self._informers]

    async def current(self) -> ListedWorld:
        """The world with the queues that there are now, where the server says it in time.

        Watches are a moment behind: somebody may have made a queue, and then a job for it. Who asks while a list is
        under way shares the next one.
        """
        asked = time.monotonic()
        async with self._listing:
            if self._current_since < asked:
                await asyncio.sleep(self._rests_until - time.monotonic())
                began = time.monotonic()
                try:
                    async with asyncio.timeout(LIST_SECONDS):
                        self._current = ListedWorld((await self._client.list(QUEUES)).items, self._namespaces)
                except (ApiError, OSError, TimeoutError):
                    self._current = self
                ended = time.monotonic()
                self._current_since = began  # now: who asked may have gone meanwhile, and nothing was listed
                self._rests_until = ended + min(REST_SHARE * (ended - began), LONGEST_REST_SECONDS)
            return self._current

    async def synced(self) -> None:
        await asyncio.gather(*(informer.synced() for informer in self._informers))

    def problem(self) -> str | None:
        """What is missing for answers to be right."""
        behind = [informer.problem() for informer in self._informers if not informer.has_synced]
        return f"not known yet: {', '.join(filter(None, behind))}" if behind else None

    def complaint(self) -> str | None:
        """What cannot be followed: not yet, or no longer for a while."""
        lost = [informer.problem() for informer in self._informers if informer.trouble]
        return f"waits for {', '.join(filter(None, lost))}" if any(lost) else None

    def _put_namespace(self, namespace: Namespace) -> None:
        self.put_namespace(namespace.metadata.name, namespace.metadata.annotations)
