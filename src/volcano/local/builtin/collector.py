"""The owner garbage collector: what has lost its owners goes, in the background, the foreground, or not at all.

Neighbours: `ownership` holds the graph and judges; `kinds` lists the collections to watch.
"""

from __future__ import annotations

import time
from typing import Any

from volcano.api import keys
from volcano.api.meta import OwnerReference
from volcano.api.resource import Resource
from volcano.kube.client import Client, PatchKind
from volcano.kube.errors import NotFound
from volcano.kube.informer import Callbacks
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.kinds import Kinds
from volcano.local.builtin.ownership import Existence, Item, Ownership, Verdict, without
from volcano.local.builtin.views import Meta, meta_of
from volcano.local.builtin.world import World

_TRUST_SECONDS = 30.0
"""How long a looked-up owner counts as present."""


class GarbageCollector(Controller):
    """Keys are uids."""

    name = "garbage-collector"
    workers = 16

    def __init__(self, client: Client, world: World, kinds: Kinds) -> None:
        super().__init__(client, world)
        self._kinds = kinds
        self._graph = Ownership()
        self._resources: dict[str, Resource[Any]] = {}
        self._gone: dict[str, None] = {}
        self._found: dict[str, float] = {}

    def connect(self) -> None:
        self._kinds.each(self._watch)

    def _watch(self, resource: Resource[Any]) -> None:
        plural = f"{resource.plural}.{resource.group}"
        self._resources[plural] = resource

        def seen(obj: Any) -> None:
            self._seen(_item(plural, obj))

        self.world.heads(resource).add_handler(
            Callbacks(seen, lambda _old, new: seen(new), lambda old: self._vanished(_item(plural, old)))
        )

    def _seen(self, item: Item) -> None:
        self._gone.pop(item.uid, None)
        self._graph.put(item)
        if item.is_foreground:
            for child in self._graph.dependents(item.uid):
                self.queue.add(child.uid)
        if item.is_foreground or item.is_orphaning or self._graph.is_suspect(item):
            self.queue.add(item.uid)

    def _vanished(self, item: Item) -> None:
        self._graph.remove(item.uid)
        for child in self._graph.dependents(item.uid):
            self._gone[item.uid] = None
            self.queue.add(child.uid)
        for owner in item.owners:
            parent = self._graph.items.get(owner.uid)
            if parent is not None and parent.is_foreground:
                self.queue.add(owner.uid)
            if not self._graph.dependents(owner.uid):
                self._gone.pop(owner.uid, None)
                self._found.pop(owner.uid, None)

    async def reconcile(self, key: str) -> float | None:
        item = self._graph.items.get(key)
        if item is None:
            return None
        if item.is_orphaning:
            await self._orphan(item)
            return None
        if item.is_foreground:
            if not self._graph.blockers(item.uid):
                await self._drop_finalizer(item, keys.FINALIZER_FOREGROUND)
            return None
        verdict, references = self._graph.judge(item, self._existence)
        while verdict is Verdict.ASK:
            await self._ask(item, references[0])
            verdict, references = self._graph.judge(item, self._existence)
        if verdict is Verdict.DROP_REFERENCES:
            await self._drop_references(item, references)
        elif verdict in (Verdict.COLLECT, Verdict.COLLECT_FOREGROUND):
            await self._collect(item, verdict)
        return None

    # Knowing

    def _existence(self, owner: OwnerReference) -> Existence:
        if owner.uid in self._gone:
            return Existence.ABSENT
        if time.monotonic() < self._found.get(owner.uid, 0.0):
            return Existence.PRESENT
        return Existence.UNKNOWN

    async def _ask(self, item: Item, owner: OwnerReference) -> None:
        """Look an owner up that no watch has shown: the cache may lag, the kind may be unknown."""
        resource = self._kinds.find(owner.api_version, owner.kind)
        if resource is None:
            self._found[owner.uid] = time.monotonic() + _TRUST_SECONDS  # nobody can tell: leave the object alone
            return
        namespace = item.namespace if resource.namespaced else None
        try:
            found = await self.client.get(resource.untyped, owner.name, namespace)
        except NotFound:
            self._gone[owner.uid] = None
            return
        if meta_of(found).uid == owner.uid:
            self._found[owner.uid] = time.monotonic() + _TRUST_SECONDS
        else:
            self._gone[owner.uid] = None

    # Acting

    async def _collect(self, item: Item, verdict: Verdict) -> None:
        propagation = "Background"
        if verdict is Verdict.COLLECT_FOREGROUND or keys.FINALIZER_FOREGROUND in item.finalizers:
            propagation = "Foreground"
        elif keys.FINALIZER_ORPHAN in item.finalizers:
            propagation = "Orphan"
        try:
            await self.client.delete(
                self._resources[item.plural],
                item.name,
                item.namespace or None,
                propagation=propagation,
                uid=item.uid,
            )
        except NotFound:
            return

    async def _orphan(self, owner: Item) -> None:
        """Let go of the dependents, then of the owner."""
        for child in self._graph.dependents(owner.uid):
            await self._drop_references(child, [r for r in child.owners if r.uid == owner.uid])
        await self._drop_finalizer(owner, keys.FINALIZER_ORPHAN)

    async def _drop_references(self, item: Item, dropped: list[OwnerReference]) -> None:
        metadata = await self._current(item)
        if metadata is None:
            return
        kept = without(metadata.owner_references, dropped)
        if len(kept) != len(metadata.owner_references):
            await self._patch(item, {"ownerReferences": kept, "resourceVersion": metadata.resource_version})

    async def _drop_finalizer(self, item: Item, finalizer: str) -> None:
        metadata = await self._current(item)
        if metadata is None or finalizer not in metadata.finalizers:
            return
        kept = [name for name in metadata.finalizers if name != finalizer]
        await self._patch(item, {"finalizers": kept, "resourceVersion": metadata.resource_version})

    async def _current(self, item: Item) -> Meta | None:
        try:
            found = await self.client.get(self._resources[item.plural].untyped, item.name, item.namespace or None)
        except NotFound:
            return None
        metadata = meta_of(found)
        return metadata if metadata.uid == item.uid else None

    async def _patch(self, item: Item, metadata: dict[str, object]) -> None:
        resource = self._resources[item.plural].untyped
        body = {"metadata": {"uid": item.uid, **metadata}}
        try:
            await self.client.patch(resource, item.name, body, item.namespace or None, kind=PatchKind.MERGE)
        except NotFound:
            return


def _item(plural: str, obj: Any) -> Item:
    metadata = meta_of(obj)
    return Item(
        plural=plural,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        owners=tuple(metadata.owner_references),
        is_deleting=metadata.deletion_timestamp is not None,
        finalizers=tuple(metadata.finalizers),
    )
