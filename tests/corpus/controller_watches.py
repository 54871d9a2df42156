"""Controllers without a server: what they do when a watch tells them something, seen in their queues."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from volcano.controllers.runtime import Context, Controller
from volcano.http.metrics import Registry


class Told:
    """A collection that a controller follows: `store`, and the handlers to tell."""

    def __init__(self) -> None:
        self.store: dict[str, Any] = {}
        self.handlers: list[Any] = []

    def add_handler(self, handler: Any) -> None:
        self.handlers.append(handler)

    def get(self, name: str, namespace: str | None = None) -> Any:
        return self.store.get(f"{namespace}/{name}" if namespace else name)


class Watches:
    """Stands for the informers of a `Context`."""

    def __init__(self) -> None:
        self.collections: dict[str, Told] = {}
        self.places: list[tuple[str, str]] = []

    def of(self, resource: Any, handler: Any = None) -> Told:
        told = self.collections.setdefault(resource.plural, Told())
        if handler is not None:
            told.handlers.append(handler)
        return told

    def one(self, resource: Any, name: str, namespace: str, handler: Any) -> Told:
        self.places.append((namespace, name))
        return self.of(resource, handler)


class Recorder:
    def __init__(self) -> None:
        self.events: list[str] = []

    def record(self, resource: Any, obj: Any, type_: str, reason: str, message: str) -> None:
        del resource, obj
        self.events.append(f"{type_} {reason} {message}")


def places_followed(make: Callable[[Context], Controller]) -> list[tuple[str, str]]:
    """The single objects, by namespace and name, that a controller watches."""

    async def main() -> list[tuple[str, str]]:
        watches = Watches()
        make(Context(None, watches, Recorder(), Registry()))  # type: ignore[arg-type]
        return watches.places

    return asyncio.run(main())


def keys_after(make: Callable[[Context], Controller], plural: str, verb: str, *objects: Any) -> list[str]:
    """What waits in the queue of a controller after one of its watches told it about `objects`."""

    async def main() -> list[str]:
        watches = Watches()
        context = Context(None, watches, Recorder(), Registry())  # type: ignore[arg-type]
        controller = make(context)
        while len(controller.queue):
            controller.queue.done(await controller.queue.get())
        for handler in watches.of(SimpleNamespace(plural=plural)).handlers:
            getattr(handler, f"on_{verb}")(*objects)
        found: list[str] = []
        async with asyncio.timeout(5):
            await asyncio.sleep(0.06)  # some look a moment later
            while len(controller.queue):
                found.append(await controller.queue.get())
        return found

    return asyncio.run(main())
