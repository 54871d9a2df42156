"""The claim controller: persistent volume claims get a volume, and volumes made here go with their claims.

Neighbours: `binding` decides.
"""

from __future__ import annotations

import asyncio
import contextlib

from volcano.api.meta import JsonObject
from volcano.api.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists, NotFound
from volcano.kube.informer import Callbacks, Informer
from volcano.local.builtin import binding
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.world import World

_VOLUME_PREFIX = "volume:"


class ClaimController(Controller):
    """Keys are claims, or volumes with a prefix."""

    name = "claim"
    workers = 1  # two claims must not take the same volume

    def __init__(self, client: Client, world: World) -> None:
        super().__init__(client, world)
        self._classes: Informer[JsonObject] = Informer(client, STORAGE_CLASSES.untyped)
        self._volumes: Informer[JsonObject] = Informer(client, PERSISTENT_VOLUMES.untyped)
        self._claims: Informer[JsonObject] = Informer(client, PERSISTENT_VOLUME_CLAIMS.untyped)

    def connect(self) -> None:
        self._claims.add_handler(Callbacks(self._claimed, lambda _old, new: self._claimed(new), self._let_go))
        self._volumes.add_handler(Callbacks(self._offered, lambda _old, new: self._offered(new)))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for informer in (self._classes, self._volumes, self._claims):
                tasks.create_task(informer.run())
            for informer in (self._classes, self._volumes, self._claims):
                await informer.synced()
            tasks.create_task(super().run())

    def _claimed(self, claim: JsonObject) -> None:
        if binding.needs_volume(claim):
            self.queue.add(f"{claim['metadata']['namespace']}/{claim['metadata']['name']}")

    def _let_go(self, claim: JsonObject) -> None:
        if claim["spec"].get("volumeName"):
            self.queue.add(_VOLUME_PREFIX + claim["spec"]["volumeName"])

    def _offered(self, volume: JsonObject) -> None:
        self.queue.add(_VOLUME_PREFIX + volume["metadata"]["name"])
        for claim in self._claims.store.values():
            self._claimed(claim)

    async def reconcile(self, key: str) -> float | None:
        if key.startswith(_VOLUME_PREFIX):
            await self._clean(key.removeprefix(_VOLUME_PREFIX))
            return None
        claim = self._claims.store.get(key)
        if claim is None or not binding.needs_volume(claim):
            return None
        step = binding.bind(claim, self._volumes.store.values(), self._provisioner(claim))
        if step is not None:
            await self._bind(claim, step)
        return None

    def _provisioner(self, claim: JsonObject) -> str | None:
        name = claim["spec"].get("storageClassName")
        found = self._classes.store.get(name) if name else binding.default_class(self._classes.store.values())
        return None if found is None else str(found.get("provisioner") or "")

    async def _bind(self, claim: JsonObject, step: binding.Binding) -> None:
        """Volume first, claim last: what is interrupted is found and finished by the next attempt."""
        if step.create is not None:
            with contextlib.suppress(AlreadyExists):  # made by an attempt that was interrupted
                await self.client.create(PERSISTENT_VOLUMES.untyped, step.create)
        reference = {"spec": {"claimRef": binding.claim_reference(claim)}}
        await self.client.patch(PERSISTENT_VOLUMES.untyped, step.volume, reference)
        phase = {"status": {"phase": "Bound"}}
        await self.client.patch(PERSISTENT_VOLUMES.untyped, step.volume, phase, subresource="status")
        name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
        try:
            await self.client.patch(PERSISTENT_VOLUME_CLAIMS.untyped, name, step.claim, namespace)
            body = {"status": step.status}
            await self.client.patch(PERSISTENT_VOLUME_CLAIMS.untyped, name, body, namespace, subresource="status")
        except NotFound:
            return

    async def _clean(self, name: str) -> None:
        """Delete a volume made here whose claim is gone."""
        volume = self._volumes.store.get(name)
        if volume is None:
            return
        owner = volume["spec"].get("claimRef") or {}
        claim = self._claims.store.get(f"{owner.get('namespace')}/{owner.get('name')}")
        if not binding.is_abandoned(volume, claim):
            return
        try:
            await self.client.delete(PERSISTENT_VOLUMES, name, uid=volume["metadata"]["uid"])
        except NotFound:
            return
