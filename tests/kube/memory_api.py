"""A tiny API server in memory for the client's tests: list with pages, watch with history, write with versions.

Only what the client side needs to be exercised: the product's own API server is tested elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from volcano.http.message import Request, Response

Json = dict[str, Any]


class MemoryApi:
    """One collection of untyped objects at any path. `history` holds every change; `compact` forgets it."""

    def __init__(self, *, watch_list: bool = True) -> None:
        self.objects: dict[str, Json] = {}
        self.history: list[tuple[int, str, Json]] = []
        self.version = 0
        self.compacted = 0
        self.watch_list = watch_list
        self.requests: list[Request] = []
        self.changed = asyncio.Event()
        self.cut = asyncio.Event()

    # Changing the world

    def put(self, name: str, namespace: str = "default", **fields: Any) -> Json:
        key = f"{namespace}/{name}"
        kind = "MODIFIED" if key in self.objects else "ADDED"
        self.version += 1
        metadata = {"name": name, "namespace": namespace, "uid": fields.pop("uid", f"uid-{key}")}
        obj = {"metadata": {**metadata, "resourceVersion": str(self.version)}, **fields}
        self.objects[key] = obj
        self._record(kind, obj)
        return obj

    def delete(self, name: str, namespace: str = "default") -> None:
        self.version += 1
        obj = self.objects.pop(f"{namespace}/{name}")
        self._record("DELETED", {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}})

    def compact(self) -> None:
        self.compacted = self.version
        self.history.clear()

    def disconnect(self) -> None:
        """End every watch."""
        self.cut.set()
        self.cut = asyncio.Event()
        self._notify()

    def _record(self, kind: str, obj: Json) -> None:
        self.history.append((self.version, kind, obj))
        self._notify()

    def _notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    # Answering

    async def handle(self, request: Request) -> Response:
        self.requests.append(request)
        if request.method == "GET" and request.param("watch") == "true":
            return self._watch(request)
        if request.method == "GET" and request.path.rpartition("/")[2].endswith("s"):
            return self._list(request)
        if request.method == "POST":
            body = msgspec.json.decode(request.body)
            metadata = body.pop("metadata")
            return answer(201, self.put(metadata["name"], metadata.get("namespace", "default"), **body))
        return status(404, "NotFound", f"{request.path} not found")

    def _list(self, request: Request) -> Response:
        items = [self.objects[key] for key in sorted(self.objects)]
        start = int(request.param("continue") or 0)
        limit = int(request.param("limit") or 0) or len(items)
        page = items[start : start + limit]
        metadata = {"resourceVersion": str(self.version)}
        if start + limit < len(items):
            metadata["continue"] = str(start + limit)
        return answer(200, {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": page})

    def _watch(self, request: Request) -> Response:
        initial = request.param("sendInitialEvents") == "true"
        if initial and not self.watch_list:
            return status(422, "Invalid", "sendInitialEvents: Forbidden")
        since = int(request.param("resourceVersion") or self.version)
        if since < self.compacted:
            return status(410, "Expired", "too old resource version")
        return Response(200, {"content-type": "application/json"}, self._events(since, initial))

    async def _events(self, since: int, initial: bool) -> AsyncIterator[bytes]:
        cut = self.cut
        if initial:
            for obj in list(self.objects.values()):
                yield line("ADDED", obj)
            annotations = {"k8s.io/initial-events-end": "true"}
            since = self.version
            yield line("BOOKMARK", {"metadata": {"resourceVersion": str(since), "annotations": annotations}})
        while not cut.is_set():
            if since < self.compacted:
                yield line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "compacted"})
                return
            for version, kind, obj in list(self.history):
                if version > since:
                    since = version
                    yield line(kind, obj)
            await self.changed.wait()


def line(kind: str, obj: Json) -> bytes:
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n"


def answer(code: int, document: Json) -> Response:
    return Response(code, {"content-type": "application/json"}, msgspec.json.encode(document))


def status(code: int, reason: str, message: str) -> Response:
    return answer(code, {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message})
