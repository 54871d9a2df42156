"""An API server of dictionaries for simulations: late answers, lost answers, refusals, watches that lag and break.

Stands in for `kube.client.Client`. What happens when is drawn from one generator: the same seed, the same history.
"""

from __future__ import annotations

import asyncio
import datetime
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

import msgspec

from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.kube.client import PatchKind
from volcano.kube.codec import Listing, WatchEvent
from volcano.kube.errors import AlreadyExists, Conflict, Forbidden, Gone, InternalError, Invalid, NotFound
from volcano.local.apiserver.faults import Unprocessable
from volcano.local.apiserver.merging.patch import json_patch, merge_patch

T = TypeVar("T")
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
FINISHED = {"Succeeded", "Failed"}
REFUSALS = (
    InternalError("etcdserver: leader changed"),
    Conflict("the object has been modified"),
    Forbidden("exceeded quota: pods=10"),
    ConnectionResetError("the server went away"),
)


@dataclass(slots=True)
class Trouble:
    """How bad the network is, as chances of each request and longest delays in seconds."""

    refuses: float = 0.0
    loses_answer: float = 0.0
    answers_within: float = 0.0
    lags: float = 0.0


@dataclass(slots=True)
class Change:
    version: int
    type: str
    document: JsonObject


Watcher = Callable[[str, JsonObject | None, JsonObject | None], None]


class Server:
    """Documents by kind and "namespace/name"; they are replaced, never changed."""

    def __init__(self, random: Random, observe: Watcher) -> None:
        self.trouble = Trouble()
        self.writes = 0
        self.answers_lost = 0
        self.collisions = 0
        """pods created that were there already, for the same job"""
        self.objects: defaultdict[str, dict[str, JsonObject]] = defaultdict(dict)
        self._observe = observe
        self._random = random
        self._version = 1
        self._changes: defaultdict[str, list[Change]] = defaultdict(list)
        self._forgotten: defaultdict[str, int] = defaultdict(int)
        self._streams: defaultdict[str, list[asyncio.Event]] = defaultdict(list)
        self._broken: set[str] = set()
        self._held: dict[str, asyncio.Event] = {}

    # As the world sees it: at once and always right

    def now(self) -> datetime.datetime:
        return START + datetime.timedelta(seconds=int(asyncio.get_running_loop().time()))

    def put(self, plural: str, key: str, document: JsonObject) -> JsonObject:
        """Add or replace; unchanged documents keep their version."""
        before = self.objects[plural].get(key)
        if before == document:
            return document
        if before is not None:
            self._observe(plural, before, document)
        self._version += 1
        self.writes += 1
        meta = {**document["metadata"], "resourceVersion": str(self._version)}
        if before is None:
            meta |= {"uid": f"{plural}-{self._version}", "creationTimestamp": f"{self.now():%Y-%m-%dT%H:%M:%SZ}"}
            self._observe(plural, None, document)
        stored = {**document, "metadata": meta}
        self.objects[plural][key] = stored
        self._tell(plural, Change(self._version, "MODIFIED" if before else "ADDED", stored))
        return stored

    def patch(self, plural: str, key: str, change: JsonObject) -> JsonObject:
        return self.put(plural, key, merge_patch(self.objects[plural][key], change))

    def remove(self, plural: str, key: str) -> None:
        gone = self.objects[plural].pop(key)
        self._observe(plural, gone, None)
        self._version += 1
        self.writes += 1
        meta = {**gone["metadata"], "resourceVersion": str(self._version)}
        self._tell(plural, Change(self._version, "DELETED", {**gone, "metadata": meta}))

    def break_watches(self, plural: str, *, forget: bool) -> None:
        """End the streams of a kind; with `forget` what they have not told yet is never told."""
        if forget:
            self._changes[plural].clear()
            self._forgotten[plural] = self._version
        self._broken.add(plural)
        self._wake(plural)

    @contextmanager
    def held(self, plural: str) -> Iterator[None]:
        """For so long nobody hears what happens to a kind; all of it is told at once afterwards."""
        self._held[plural] = asyncio.Event()
        try:
            yield
        finally:
            self._held.pop(plural).set()

    def _tell(self, plural: str, change: Change) -> None:
        self._changes[plural].append(change)
        self._wake(plural)

    def _wake(self, plural: str) -> None:
        for stream in self._streams[plural]:
            stream.set()

    # As its clients see it

    async def get(self, resource: Resource[T], name: str, namespace: str | None = None) -> T:
        await self._travel()
        return msgspec.convert(self._find(resource, name, namespace), resource.type)

    async def list(self, resource: Resource[T], *_scope: object) -> Listing[T]:
        await self._travel()
        items = [msgspec.convert(document, resource.type) for document in self.objects[resource.plural].values()]
        return Listing(items, str(self._version))

    async def create(self, resource: Resource[T], obj: Any, namespace: str | None = None) -> T:
        await self._arrive()
        document = msgspec.json.decode(obj) if isinstance(obj, msgspec.Raw) else obj
        key = _key(document["metadata"]["name"], namespace)
        if present := self.objects[resource.plural].get(key):
            owned_alike = owners_of(document) == owners_of(present)
            self.collisions += resource.plural == "pods" and owned_alike
            raise AlreadyExists(f"{resource.plural} {key!r} already exists")
        if resource.plural == "pods":
            document = {**document, "status": {"phase": "Pending"}}
        stored = self.put(resource.plural, key, document)
        await self._return()
        return msgspec.convert(stored, resource.type)

    async def update(self, resource: Resource[T], obj: JsonObject, subresource: str | None = None) -> T:
        await self._arrive()
        meta = obj["metadata"]
        present = self._find(resource, meta["name"], meta["namespace"])
        if any(present["metadata"][name] != meta[name] for name in ("uid", "resourceVersion")):
            raise Conflict(f"{meta['name']} has been modified")
        whole = {**present, "status": obj["status"]} if subresource == "status" else obj
        stored = self.put(resource.plural, _key(meta["name"], meta["namespace"]), whole)
        await self._return()
        return msgspec.convert(stored, resource.type)

    async def patch_(
        self,
        resource: Resource[T],
        name: str,
        body: Any,
        namespace: str | None = None,
        *,
        kind: PatchKind = PatchKind.MERGE,
        subresource: str | None = None,
    ) -> T:
        await self._arrive()
        present = self._find(resource, name, namespace)
        if kind == PatchKind.JSON:
            try:
                changed = json_patch(present, body)
            except Unprocessable as error:
                raise Invalid(f"{name}: {error}") from None
        else:
            for name_, value in body.get("metadata", {}).items():
                if name_ in {"uid", "resourceVersion"} and value != present["metadata"][name_]:
                    raise Conflict(f"{name} is not what it was any more ({name_})")
            changed = merge_patch(present, {"status": body["status"]} if subresource == "status" else body)
        stored = self.put(resource.plural, _key(name, namespace), changed)
        await self._return()
        return msgspec.convert(stored, resource.type)

    async def apply(
        self, resource: Resource[T], document: JsonObject, *, subresource: str | None = None, field_manager: str = ""
    ) -> T:
        meta = document["metadata"]
        return await self.patch_(resource, meta["name"], document, meta.get("namespace"), subresource=subresource)

    async def delete(
        self,
        resource: Resource[Any],
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str = "",
    ) -> None:
        await self._arrive()
        present = self._find(resource, name, namespace)
        if resource_version and resource_version != present["metadata"]["resourceVersion"]:
            raise Conflict(f"{name}: the version in the precondition is another")
        if uid and uid != present["metadata"]["uid"]:
            raise Conflict(f"{name}: the uid in the precondition is another")
        self.end(resource.plural, _key(name, namespace))
        await self._return()

    def end(self, plural: str, key: str) -> None:
        """Delete; a pod that has a node is only marked, and its node does the rest."""
        present = self.objects[plural][key]
        alive = present.get("status", {}).get("phase") not in FINISHED
        if plural == "pods" and present["spec"].get("nodeName") and alive:
            self.patch(plural, key, {"metadata": {"deletionTimestamp": f"{self.now():%Y-%m-%dT%H:%M:%SZ}"}})
        else:
            self.remove(plural, key)

    async def watch(
        self,
        resource: Resource[T],
        *_scope: object,
        resource_version: str | None = None,
        send_initial_events: bool = False,
        **_options: object,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        plural = resource.plural
        await self._travel()
        self._broken.discard(plural)
        position = self._version if resource_version is None else int(resource_version)
        if send_initial_events:
            for document in list(self.objects[plural].values()):
                yield _event("ADDED", document, resource)
            yield WatchEvent("BOOKMARK", msgspec.convert({}, resource.type), str(position), ends_initial_events=True)
        news = asyncio.Event()
        self._streams[plural].append(news)
        try:
            while True:
                if position < self._forgotten[plural]:
                    raise Gone("too old resource version")
                for change in [change for change in self._changes[plural] if change.version > position]:
                    position = change.version
                    yield _event(change.type, change.document, resource)
                news.clear()
                await news.wait()
                await self._lag()
                if plural in self._held:
                    await self._held[plural].wait()
                if plural in self._broken:
                    raise ConnectionResetError("the watch broke")
        finally:
            self._streams[plural].remove(news)

    def _find(self, resource: Resource[Any], name: str, namespace: str | None) -> JsonObject:
        present = self.objects[resource.plural].get(_key(name, namespace))
        if present is None:
            raise NotFound(f'{resource.plural} "{name}" not found')
        return present

    async def _travel(self) -> None:
        if self.trouble.answers_within:
            await asyncio.sleep(self._random.random() * self.trouble.answers_within)

    async def _arrive(self) -> None:
        await self._travel()
        if self._random.random() < self.trouble.refuses:
            raise self._random.choice(REFUSALS)

    async def _return(self) -> None:
        await self._travel()
        if self._random.random() < self.trouble.loses_answer:
            self.answers_lost += 1
            raise ConnectionResetError("the answer was lost")

    async def _lag(self) -> None:
        if self.trouble.lags:
            await asyncio.sleep(self._random.random() * self.trouble.lags)


class Client:
    """What controllers are given."""

    def __init__(self, server: Server) -> None:
        self.get, self.list, self.watch = server.get, server.list, server.watch
        self.create, self.update, self.patch, self.delete = server.create, server.update, server.patch_, server.delete
        self.apply = server.apply


def owners_of(document: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = document["metadata"].get("ownerReferences", [])
    return found


def _key(name: str, namespace: str | None) -> str:
    return f"{namespace}/{name}" if namespace else name


def _event(type_: str, document: JsonObject, resource: Resource[T]) -> WatchEvent[T]:
    return WatchEvent(type_, msgspec.convert(document, resource.type), document["metadata"]["resourceVersion"])
