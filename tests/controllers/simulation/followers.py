"""Controllers that make one kind of thing follow others, however late they hear of them and of what they did.

Each says what happens to those others and what must have come of it; that it is the end of it is checked for all.
"""

from __future__ import annotations

from typing import Any

from tests.controllers.simulation.world import World
from volcano.api.meta import JsonObject

ROUNDS = 6


class Follower(World):
    """At rest everything is right, and a fresh controller, which sees nothing but that, finds nothing left to do."""

    def check(self) -> None:
        """What there is, is what there should be: reckoned from the documents, and not as the controller does."""
        raise NotImplementedError

    async def comes_to_rest(self) -> None:
        await self.rests()
        self.check()

    async def end(self) -> None:
        await self.hears_late(ROUNDS)

    # Documents

    def documents(self, plural: str) -> list[JsonObject]:
        return list(self.server.objects[plural].values())

    def make(self, plural: str, name: str, namespace: str = "", **parts: Any) -> None:
        """Add a document where there is none of this name; `metadata` is added to its name and namespace."""
        key = f"{namespace}/{name}" if namespace else name
        if key not in self.server.objects[plural]:
            meta = {"name": name, **({"namespace": namespace} if namespace else {}), **parts.pop("metadata", {})}
            self.server.put(plural, key, {"metadata": meta, **parts})

    def remove_some(self, plural: str) -> None:
        if key := self.some(plural):
            self.server.remove(plural, key)
