"""What belongs to the owners of one kind: whose labels no longer suit is let go, orphans that suit are taken.

As Kubernetes' controllers keep their references: an owner that is being deleted takes nobody, a dependent that is being
deleted is not taken. Neighbours: the workload controllers act on what `claim` leaves them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.kube.client import Client, PatchKind
from volcano.kube.errors import NotFound
from volcano.kube.informer import Informer
from volcano.local.apiserver.verbs.selection import selector_matches
from volcano.local.builtin.podmaking import owner_reference
from volcano.local.builtin.views import LabelledMeta, controller_of
from volcano.local.builtin.world import BY_CONTROLLER, ORPHANS

T = TypeVar("T")


@dataclass
class Belongings(Generic[T]):
    """What an owner has, what it has and shall not have, and what it may have."""

    kept: list[T] = field(default_factory=list)
    released: list[T] = field(default_factory=list)
    adopted: list[T] = field(default_factory=list)


def sort_out(
    owner: JsonObject, mine: Iterable[T], orphans: Iterable[T], meta: Callable[[T], LabelledMeta]
) -> Belongings[T]:
    """`mine` refer to `owner` as their controller, `orphans` of its namespace to nobody."""
    result: Belongings[T] = Belongings()
    is_going = "deletionTimestamp" in owner["metadata"]
    for item in mine:
        if suits(owner, meta(item)):
            result.kept.append(item)
        elif not is_going:
            result.released.append(item)
    if not is_going:
        result.adopted = [
            item for item in orphans if meta(item).deletion_timestamp is None and suits(owner, meta(item))
        ]
    return result


def suits(owner: JsonObject, meta: LabelledMeta) -> bool:
    """Whether the owner's selector chooses these labels; an owner without one has what refers to it, and no more."""
    return selector_matches(owner["spec"].get("selector"), meta.labels)


def pod_meta(pod: Any) -> LabelledMeta:
    found: LabelledMeta = pod.metadata
    return found


def document_meta(document: JsonObject) -> LabelledMeta:
    return msgspec.convert(document["metadata"], LabelledMeta)


class Dependents(Generic[T]):
    """The dependents among the objects of one informer, for owners of one kind."""

    def __init__(
        self,
        client: Client,
        resource: Resource[JsonObject],
        informer: Informer[T],
        meta: Callable[[T], LabelledMeta],
        owner_resource: Resource[Any],
        owners: Informer[JsonObject],
        may_take: Callable[[JsonObject, T], bool] = lambda _owner, _item: True,
    ) -> None:
        """`may_take` says what else, beside labels, an orphan must have."""
        self._client = client
        self._resource = resource
        self._informer = informer
        self._meta = meta
        self._owner_resource = owner_resource
        self._owners = owners
        self._may_take = may_take

    def concerned(self, item: T) -> Iterator[str]:
        """Keys of the owners to whom a change of `item` matters: its controller, or who might become it."""
        meta = self._meta(item)
        controller = controller_of(meta.owner_references)
        if controller is not None:
            if (controller.api_version, controller.kind) == self._kind:
                yield f"{meta.namespace}/{controller.name}"
            return
        for owner in self._owners.store.values():
            head = owner["metadata"]
            if head["namespace"] == meta.namespace and suits(owner, meta) and self._may_take(owner, item):
                yield f"{head['namespace']}/{head['name']}"

    async def claim(self, owner: JsonObject) -> list[T]:
        """The dependents of `owner`, after letting go and taking what has to be."""
        head = owner["metadata"]
        orphans = [item for item in self._informer.by_index(ORPHANS, head["namespace"]) if self._may_take(owner, item)]
        found = sort_out(owner, self._informer.by_index(BY_CONTROLLER, head["uid"]), orphans, self._meta)
        if found.adopted and not await self._is_there(owner):
            found.adopted = []
        reference = owner_reference(owner, *self._kind)
        gone = {"$patch": "delete", "uid": head["uid"]}
        await asyncio.gather(*(self._refer(item, gone) for item in found.released))
        taken = await asyncio.gather(*(self._refer(item, reference) for item in found.adopted))
        return [*found.kept, *(item for item, done in zip(found.adopted, taken, strict=True) if done)]

    async def _is_there(self, owner: JsonObject) -> bool:
        """Asked of the server: what the cache shows may be gone, or its name may be another's by now."""
        head = owner["metadata"]
        try:
            now = await self._client.get(self._owner_resource.untyped, head["name"], head["namespace"])
        except NotFound:
            return False
        return now["metadata"]["uid"] == head["uid"] and "deletionTimestamp" not in now["metadata"]

    async def _refer(self, item: T, reference: JsonObject) -> bool:
        meta = self._meta(item)
        body = {"metadata": {"uid": meta.uid, "ownerReferences": [reference]}}
        try:
            await self._client.patch(self._resource, meta.name, body, meta.namespace, kind=PatchKind.STRATEGIC)
        except NotFound:
            return False
        return True

    @property
    def _kind(self) -> tuple[str, str]:
        return self._owner_resource.api_version, self._owner_resource.kind
