"""The collections that own or are owned: those every cluster has, and custom resources as they are defined.

Neighbours: `collector` watches them; `namespaces` empties them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from volcano.api.meta import JsonObject
from volcano.api.resource import DOCUMENTS, Resource
from volcano.api.resources import (
    ALL_KUBERNETES,
    ALL_VOLCANO,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    EVENTS_V1,
    LEASES,
)
from volcano.kube.client import Client
from volcano.kube.informer import Callbacks, Informer

_UNOWNED = (EVENTS, EVENTS_V1, LEASES, CUSTOM_RESOURCE_DEFINITIONS)
_NEEDED = ("list", "watch", "delete")
_REST = frozenset({"clusterroles", "clusterrolebindings", "storageclasses", "csinodes", "csidrivers", "ingressclasses"})


class Kinds:
    """All resources by group and plural; `run` follows the definitions of custom ones."""

    def __init__(self, client: Client) -> None:
        known = [*ALL_KUBERNETES, *ALL_VOLCANO]
        self.resources: dict[tuple[str, str], Resource[Any]] = {
            (r.group, r.plural): r for r in known if all(verb in r.verbs for verb in _NEEDED)
        }
        self._listeners: list[Callable[[Resource[Any]], None]] = []
        self.definitions: Informer[JsonObject] = Informer(
            client, CUSTOM_RESOURCE_DEFINITIONS, handler=Callbacks(self._defined)
        )

    @property
    def namespaced(self) -> list[Resource[Any]]:
        return [resource for resource in self.resources.values() if resource.namespaced]

    def find(self, api_version: str, kind: str) -> Resource[Any] | None:
        """The resource of an owner reference; the version does not matter."""
        group = api_version.rpartition("/")[0]
        return next((r for r in self.resources.values() if (r.group, r.kind) == (group, kind)), None)

    def each(self, listener: Callable[[Resource[Any]], None]) -> None:
        """Call `listener` for every collection that can take part in ownership, now and when new ones appear."""
        self._listeners.append(listener)
        for resource in self.resources.values():
            if _takes_part(resource):
                listener(resource)

    async def run(self) -> None:
        await self.definitions.run()

    def _defined(self, definition: JsonObject) -> None:
        spec = definition["spec"]
        key = (spec["group"], spec["names"]["plural"])
        version = next((v["name"] for v in spec["versions"] if v.get("served")), None)
        if key in self.resources or version is None:
            return
        resource = self.resources[key] = Resource(
            group=spec["group"],
            version=version,
            plural=spec["names"]["plural"],
            kind=spec["names"]["kind"],
            namespaced=spec.get("scope") == "Namespaced",
            load=DOCUMENTS,
            singular=spec["names"].get("singular") or spec["names"]["kind"].lower(),
        )
        for listener in self._listeners:
            listener(resource)


def _takes_part(resource: Resource[Any]) -> bool:
    return resource.plural not in _REST and not any(
        (resource.group, resource.plural) == (other.group, other.plural) for other in _UNOWNED
    )
