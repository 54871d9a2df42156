"""Informers on one side, the cluster on the other: watch events wait in an inbox and are applied between cycles.

cluster/ingest.py knows what an event means; this is where it comes from and when it is applied.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from volcano.api import resources as api
from volcano.api.resource import Resource
from volcano.kube.client import Client
from volcano.kube.informer import Callbacks, Informer
from volcano.scheduler.cluster.ingest import ADDED, DELETED, MODIFIED, Ingest
from volcano.scheduler.daemon.view import PODGROUPS_IN_VIEW, PODS_IN_VIEW
from volcano.scheduler.dump import by_plural

log = logging.getLogger(__name__)

ALWAYS: Final[tuple[Resource[Any], ...]] = (api.QUEUES, api.NODES, api.PODGROUPS, api.PODS)
"""What every cycle needs, in the order in which it is best taken in."""

_RANK: Final = {resource.plural: rank for rank, resource in enumerate((api.PRIORITY_CLASSES, *ALWAYS))}

Item = tuple[str, str, Any]
"""Event, plural name, object; or CALL, "", a function of the `Ingest`."""
CALL: Final = "CALL"


def _nobody(_event: str, _plural: str, _source: Any) -> None:
    """Observes nothing."""


class Feed:
    """`changed` is set when something waits; `apply` empties the inbox into the cluster (engine thread)."""

    def __init__(
        self,
        client: Client,
        ingest: Ingest,
        *,
        priority_classes: bool = True,
        observer: Callable[[str, str, Any], None] = _nobody,
    ) -> None:
        """`observer` is told about every event as it arrives, on the event loop."""
        self.changed = asyncio.Event()
        self.informers: dict[str, Informer[Any]] = {}
        self._client = client
        self._ingest = ingest
        self._inbox: deque[Item] = deque()
        """Filled on the event loop, emptied by the engine's thread."""
        self._held: dict[str, list[Item]] = {}
        """Per watch, what has come of its first view: half a view is none (half of the claims: devices look free)."""
        self._first = True
        self._observer = observer
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._essential = [*ALWAYS, *([api.PRIORITY_CLASSES] if priority_classes else [])]

    def start(self, also: Iterable[str] = ()) -> None:
        """Watch what every cycle needs, and what the plugins in use want to see (as `Plugin.watched` says it).

        Pods are seen as far as decisions can depend on them; whole, if a plugin wants to see them itself.
        """
        also = tuple(also)
        pods = api.PODS if api.PODS.plural in also else PODS_IN_VIEW
        views: dict[str, Resource[Any]] = {view.plural: view for view in (pods, PODGROUPS_IN_VIEW)}
        watched = self.informers.get(pods.plural)
        if watched is not None and pods is api.PODS and watched.resource is not pods:
            log.warning("a plugin wants to see whole pods: it does after the scheduler has been started anew")
        for wanted in (*(resource.plural for resource in self._essential), *also):
            plural, _, one = wanted.partition("/")
            resource = views.get(plural) or by_plural(plural)
            if resource is None or wanted in self.informers or plural in self.informers:
                continue
            namespace, _, name = one.partition("/")
            informer = self.informers[wanted] = Informer(
                self._client,
                resource,
                namespace=namespace or None,
                field_selector=f"metadata.name={name}" if name else None,
                handler=self._callbacks(wanted, plural),
                watch_list=False,
                may_be_absent=resource in api.SERVED_ON_REQUEST,
            )
            self._tasks[wanted] = asyncio.create_task(informer.run(), name=f"watch {wanted}")
            self._tasks[f"first {wanted}"] = asyncio.create_task(self._first_view(wanted), name=f"first {wanted}")

    async def synced(self) -> None:
        """Wait for the first complete view of what every cycle needs."""
        await asyncio.gather(*(self._first_view(resource.plural) for resource in self._essential))

    def problem(self) -> str | None:
        """Why this is not the cluster as it is: what cannot be seen of what every cycle needs."""
        wanted = [self.informers.get(resource.plural) for resource in self._essential]
        found = [informer.problem() if informer else "nothing is watched yet" for informer in wanted]
        return ", ".join(sorted({each for each in found if each})) or None

    def complaint(self) -> str | None:
        """What of it, and of Volcano's own kinds, cannot be seen, and why; Kubernetes need not have the others."""
        essential = {resource.plural for resource in self._essential}
        found = [
            informer.problem()
            for wanted, informer in self.informers.items()
            if informer.trouble and (wanted in essential or informer.resource.group.endswith(".volcano.sh"))
        ]
        return ", ".join(sorted(filter(None, found))) or None

    def put(self, event: str, plural: str, source: Any) -> None:
        self._inbox.append((event, plural, source))
        self.changed.set()

    def call(self, function: Callable[[Ingest], None]) -> None:
        """Have something done to the cluster between cycles."""
        self.put(CALL, "", function)

    def apply(self) -> int:
        """Take everything in that waits. An object that cannot be understood spoils only itself."""
        items = [self._inbox.popleft() for _ in range(len(self._inbox))]
        if self._first and items:
            items.sort(key=lambda item: _RANK.get(item[1], -1))
            self._first = False
        for event, plural, source in items:
            try:
                if event == CALL:
                    source(self._ingest)
                else:
                    self._ingest.apply(event, plural, source)
            except Exception:
                log.exception("%s %s cannot be taken in", plural, getattr(getattr(source, "metadata", None), "key", ""))
        return len(items)

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def store(self, plural: str) -> Mapping[str, Any]:
        informer = self.informers.get(plural)
        return informer.store if informer is not None else {}

    async def _first_view(self, wanted: str) -> None:
        await self.informers[wanted].synced()
        self._release(wanted)

    def _release(self, wanted: str) -> None:
        held = self._held.pop(wanted, None)
        if held:
            self._inbox.extend(held)
            self.changed.set()

    def _callbacks(self, wanted: str, plural: str) -> Callbacks[Any]:
        self._held[wanted] = []

        def take(event: str, source: Any) -> None:
            held = self._held.get(wanted)
            if held is None:
                self.put(event, plural, source)
            else:
                held.append((event, plural, source))
            self._observer(event, plural, source)

        return Callbacks(
            add=lambda new: take(ADDED, new),
            update=lambda _old, new: take(MODIFIED, new),
            delete=lambda old: take(DELETED, old),
        )
