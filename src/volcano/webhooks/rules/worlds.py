"""A world made of plain lists: for files, for tests, and as the base of worlds that are kept up to date."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volcano.api.scheduling import Queue
    from volcano.webhooks.rules.model import World


class ListedWorld:
    """Queues by name and by parent, and the annotations of namespaces. See `model.World`."""

    def __init__(self, queues: Iterable[Queue] = (), namespaces: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._queues: dict[str, Queue] = {}
        self._children: defaultdict[str, dict[str, Queue]] = defaultdict(dict)
        self._namespaces = dict(namespaces or {})
        for queue in queues:
            self.put_queue(queue)

    def queue(self, name: str) -> Queue | None:
        return self._queues.get(name)

    def queues(self) -> Iterable[Queue]:
        return self._queues.values()

    def child_queues(self, parent: str) -> Sequence[Queue]:
        return tuple(self._children[parent].values()) if parent in self._children else ()

    def namespace_annotations(self, namespace: str) -> Mapping[str, str]:
        return self._namespaces.get(namespace, {})

    def put_queue(self, queue: Queue) -> None:
        self.remove_queue(queue.metadata.name)
        self._queues[queue.metadata.name] = queue
        self._children[queue.spec.parent][queue.metadata.name] = queue

    def remove_queue(self, name: str) -> None:
        if old := self._queues.pop(name, None):
            self._children[old.spec.parent].pop(name, None)

    def put_namespace(self, name: str, annotations: Mapping[str, str]) -> None:
        self._namespaces[name] = annotations

    def remove_namespace(self, name: str) -> None:
        self._namespaces.pop(name, None)


class NotingWorld:
    """Another world, which notes whether anybody looked at it."""

    def __init__(self, world: World) -> None:
        self.was_asked = False
        self._world = world

    def queue(self, name: str) -> Queue | None:
        return self._asked().queue(name)

    def queues(self) -> Iterable[Queue]:
        return self._asked().queues()

    def child_queues(self, parent: str) -> Sequence[Queue]:
        return self._asked().child_queues(parent)

    def namespace_annotations(self, namespace: str) -> Mapping[str, str]:
        return self._asked().namespace_annotations(namespace)

    def _asked(self) -> World:
        self.was_asked = True
        return self._world
