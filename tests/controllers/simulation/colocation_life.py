"""Random histories of pods and the colocation configurations that select them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from tests.controllers.simulation.followers import Follower
from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.controllers.colocation.controller import ColocationController
from volcano.controllers.runtime import Context

APPS: Final = ("x", "y", "z")
NAMESPACES: Final = ("ns", "other")
NAMES: Final = ("a", "b")
RATIOS: Final = (10, 50)


class Colocations(Follower):
    kinds = ("pods", "colocationconfigurations")

    @property
    def acts(self) -> Mapping[Callable[[Any], Awaitable[None]], int]:
        return ACTS

    def controller(self, context: Context) -> ColocationController:
        return ColocationController(context)

    async def begin(self) -> None:
        await self.pod_comes()

    # What happens

    async def pod_comes(self) -> None:
        place = self.random.choice(NAMESPACES)
        labels = {"app": self.random.choice(APPS)}
        self.make("pods", self.random.choice(NAMES), place, metadata={"labels": labels}, spec={}, status={})

    async def pod_goes(self) -> None:
        self.remove_some("pods")

    async def pod_changes(self) -> None:
        """Its labels, or what the controller wrote, by somebody's hand."""
        if key := self.some("pods"):
            labels = {"labels": {"app": self.random.choice(APPS)}}
            annotations = {"annotations": {keys.COLOCATION_CONFIG: self.random.choice(("{}", None))}}
            self.server.patch("pods", key, {"metadata": self.random.choice((labels, labels, annotations))})

    async def configuration_comes(self) -> None:
        place = self.random.choice(NAMESPACES)
        self.make("colocationconfigurations", self.random.choice(NAMES), place, spec=self.some_spec())

    async def configuration_changes(self) -> None:
        if key := self.some("colocationconfigurations"):
            self.server.patch("colocationconfigurations", key, {"spec": self.some_spec()})

    async def configuration_goes(self) -> None:
        self.remove_some("colocationconfigurations")

    def some_spec(self) -> JsonObject:
        app = {"key": "app", "operator": "In", "values": self.random.sample(APPS, self.random.randint(1, len(APPS)))}
        return {"selector": {"matchExpressions": [app]}, "memoryQos": {"highRatio": self.random.choice(RATIOS)}}

    # What must have come of it

    def check(self) -> None:
        for pod in self.documents("pods"):
            annotations = pod["metadata"].get("annotations", {})
            told = annotations.get(keys.COLOCATION_CONFIG_NAME), annotations.get(keys.COLOCATION_CONFIG, "{}")
            assert told == self.due(pod), pod

    def due(self, pod: JsonObject) -> tuple[str | None, str]:
        """The name and the settings of the newest that selects the pod."""
        chosen = [
            one
            for one in self.documents("colocationconfigurations")
            if one["metadata"]["namespace"] == pod["metadata"]["namespace"]
            and pod["metadata"]["labels"]["app"] in one["spec"]["selector"]["matchExpressions"][0]["values"]
        ]
        if not chosen:
            return None, "{}"
        newest = max(chosen, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"]))
        settings = {"memoryQos": {"highRatio": newest["spec"]["memoryQos"]["highRatio"]}}
        return newest["metadata"]["name"], json.dumps(settings, separators=(",", ":"))


ACTS: Mapping[Callable[[Any], Awaitable[None]], int] = {
    Colocations.pod_comes: 4,
    Colocations.pod_goes: 1,
    Colocations.pod_changes: 4,
    Colocations.configuration_comes: 3,
    Colocations.configuration_changes: 3,
    Colocations.configuration_goes: 2,
}
