"""An API server in memory, spoken to in few words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from volcano.http.message import Peer, Request, Response
from volcano.kube.transport import ADMIN
from volcano.local.apiserver.app import ApiServer
from volcano.local.apiserver.storage.store import Store

PODS = "/api/v1/namespaces/default/pods"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

Document = dict[str, Any]


class Answer:
    """A response whose JSON can be looked into."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.content

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        return str(self.json.get("message", ""))

    def __getitem__(self, path: str) -> Any:
        """`answer["metadata.name"]`; None where nothing is."""
        value = self.json
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.json["items"]]


class Api:
    def __init__(self, server: ApiServer, peer: Peer = ADMIN) -> None:
        self.server = server
        self.peer = peer

    async def __call__(
        self, method: str, path: str, body: Any = None, kind: str = "application/json", **options: Any
    ) -> Answer:
        headers = {"content-type": kind, **options.pop("headers", {})}
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        query = [(name, str(value)) for name, value in options.items()]
        return Answer(await self.server.handle(Request(method, path, query, headers, content, self.peer)))

    async def get(self, path: str, **options: Any) -> Answer:
        return await self("GET", path, **options)

    async def post(self, path: str, body: Any, **options: Any) -> Answer:
        return await self("POST", path, body, **options)

    async def put(self, path: str, body: Any, **options: Any) -> Answer:
        return await self("PUT", path, body, **options)

    async def patch(self, path: str, body: Any, kind: str = MERGE, **options: Any) -> Answer:
        return await self("PATCH", path, body, kind, **options)

    async def delete(self, path: str, body: Any = None, **options: Any) -> Answer:
        return await self("DELETE", path, body, **options)

    async def made(self, path: str, body: Any) -> Document:
        """Create an object that must be acceptable."""
        answer = await self.post(path, body)
        assert answer.status == 201, answer.message
        document: Document = answer.json
        return document

    async def watch(self, path: str, **options: Any) -> Watch:
        query = [("watch", "true"), *((name, str(value)) for name, value in options.items())]
        response = await self.server.handle(Request("GET", path, query, {}, b"", self.peer))
        return Watch(response)


class Watch:
    """A watch being read."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.response = response
        self._chunks = response.body
        self._lines: list[bytes] = []

    async def next(self, seconds: float = 2.0) -> tuple[str, Document]:
        """The next event: its type and its object."""
        assert not isinstance(self._chunks, bytes)
        while not self._lines:
            chunk = await asyncio.wait_for(anext(self._chunks), seconds)
            self._lines += chunk.splitlines()
        event = json.loads(self._lines.pop(0))
        return event["type"], event["object"]

    async def take(self, count: int) -> list[tuple[str, str]]:
        """Types and names of the next events."""
        return [(kind, item["metadata"].get("name", "")) for kind, item in [await self.next() for _ in range(count)]]

    async def quiet(self) -> bool:
        """Nothing more comes for now."""
        try:
            await self.next(0.05)
        except TimeoutError:
            return True
        return False

    async def close(self) -> None:
        await self._chunks.aclose()  # type: ignore[union-attr]


@asynccontextmanager
async def api(store: Store | None = None) -> AsyncIterator[Api]:
    server = ApiServer(store) if store else ApiServer.open(":memory:")
    try:
        yield Api(server)
    finally:
        await server.close()


def pod(name: str = "", **more: Any) -> Document:
    metadata = {"name": name, "labels": more.pop("labels", {}), **more.pop("metadata", {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "busybox:1"}], **more}}


def configmap(name: str, labels: dict[str, str] | None = None, **data: str) -> Document:
    return {"metadata": {"name": name, "labels": labels or {}}, "data": data}


def numbers(count: int) -> Iterator[str]:
    return (f"{number:03}" for number in range(count))
