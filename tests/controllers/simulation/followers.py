"""Controllers that make one kind of thing follow others, however late they hear of them and of what they did.

Each says what happens to those others and what must have come of it; that it is the end of it is checked for all.
"""

from __future__ import annotations

from typing import Any

from tests.controllers.simulation.server import Trouble
from tests.controllers.simulation.world import World
from volcano.api.meta import JsonObject

ROUNDS = 6
IN_A_ROUND = 6
SHORT_PAUSES = (0.0, 0.0, 0.01, 0.5, 3.0)
LAG_SECONDS = 5.0


class Follower(World):
    """At rest everything is right, and a fresh controller, which sees nothing but that, finds nothing left to do."""

    def check(self) -> None:
        """What there is, is what there should be: reckoned from the documents, and not as the controller does."""
        raise NotImplementedError

    async def end(self) -> None:
        """Nothing is refused any more, but each kind of thing is heard of at another time, and many changes at once.

        What is not put right then never is: nothing else happens, and no controller starts anew.
        """
        acts, weights = list(self.acts), list(self.acts.values())
        for _ in range(ROUNDS):
            self.server.trouble = Trouble(lags=LAG_SECONDS)
            for act in self.random.choices(acts, weights, k=IN_A_ROUND):
                self.told.append(act.__name__)
                await act(self)
                await self.pause(self.random.choice(SHORT_PAUSES))
            await self.rests()
            self.check()
        writes = self.server.writes
        await self.controller_is_killed()
        await self.rests()
        assert self.server.writes == writes, "a fresh controller finds something left to do"

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
