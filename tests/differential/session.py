"""A conversation with one API server, written down step by step in a form that does not depend on the server.

`sequences` are conversations; `normal` takes what each server makes up out of the answers; `compare` reads the records.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tests.differential.normal import Names

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from volcano.http.message import Response
    from volcano.kube.transport import Stream, Transport

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AGENT = "differential/1"
EVENT_SECONDS = 60.0
ANSWER_SECONDS = 120.0

Document = dict[str, Any]
Record = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """An answer as the server gave it."""

    status: int
    body: Any

    def __getitem__(self, path: str) -> Any:
        """`reply["metadata.uid"]`; None where nothing is."""
        value = self.body
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value


class Session:
    """Requests to one server. `{ns}` in a path is the conversation's own namespace."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self.records: list[Record] = []
        self._transport = transport
        self._namespace = namespace
        self._names = Names(namespace)

    async def begin(self) -> None:
        """Make the namespace, with a service account whose token is not mounted."""
        await self._raw("POST", "/api/v1/namespaces", {"metadata": {"name": self._namespace}})
        account = {"metadata": {"name": "default"}, "automountServiceAccountToken": False}
        await self._raw("POST", "/api/v1/namespaces/{ns}/serviceaccounts", account)
        await self._raw("PUT", "/api/v1/namespaces/{ns}/serviceaccounts/default", account)

    async def get(self, path: str, **options: Any) -> Reply:
        return await self.call("GET", path, None, **options)

    async def post(self, path: str, body: Any, **options: Any) -> Reply:
        return await self.call("POST", path, body, **options)

    async def put(self, path: str, body: Any, **options: Any) -> Reply:
        return await self.call("PUT", path, body, **options)

    async def patch(self, path: str, body: Any, kind: str = MERGE, **options: Any) -> Reply:
        return await self.call("PATCH", path, body, kind=kind, **options)

    async def apply(self, path: str, body: Any, manager: str, **options: Any) -> Reply:
        """Server-side apply."""
        return await self.call("PATCH", path, body, kind=APPLY, fieldManager=manager, **options)

    async def delete(self, path: str, body: Any = None, **options: Any) -> Reply:
        return await self.call("DELETE", path, body, **options)

    async def call(
        self,
        method: str,
        path: str,
        body: Any,
        *,
        kind: str = "application/json",
        accept: str = "application/json",
        **query: Any,
    ) -> Reply:
        """Send a request and write down what came back."""
        response = await self._raw(method, path, body, kind, accept, query)
        content = _parsed(response.content)
        self.records.append(
            {
                "request": _line(method, path, kind if method == "PATCH" else "", query),
                "status": response.status,
                "warnings": self._names.text(response.headers.get("warning", "")),
                "body": self._names.normal(content),
            }
        )
        return Reply(response.status, content)

    async def unrecorded(self, method: str, path: str) -> Reply:
        """A request whose answer depends on the moment, as when something is waited for."""
        response = await self._raw(method, path, None)
        return Reply(response.status, _parsed(response.content))

    @asynccontextmanager
    async def watch(self, path: str, *, accept: str = "application/json", **query: Any) -> AsyncIterator[Watch]:
        """Watch while the block runs; what arrives is written down at its end, in one record."""
        query = {"watch": "true", **query}
        record: Record = {"request": _line("WATCH", path, "", query), "status": 0, "events": []}
        self.records.append(record)
        pairs = [(name, str(value)) for name, value in query.items()]
        headers = {"accept": accept, "user-agent": AGENT}
        async with self._transport.stream("GET", self._path(path), query=pairs, headers=headers) as stream:
            record["status"] = stream.status
            if stream.status != 200:
                record["body"] = self._names.normal(_parsed(await stream.read()))
                yield Watch(None, record, self._names)
                return
            yield Watch(stream, record, self._names)

    async def _raw(
        self,
        method: str,
        path: str,
        body: Any,
        kind: str = "application/json",
        accept: str = "application/json",
        query: Document | None = None,
    ) -> Response:
        headers = {"accept": accept, "user-agent": AGENT}
        if body is not None:
            headers["content-type"] = kind
        content = body.encode() if isinstance(body, str) else body
        if content is not None and not isinstance(content, bytes):
            content = json.dumps(content).replace("{ns}", self._namespace).encode()
        pairs = [(name, self._path(str(value))) for name, value in (query or {}).items()]
        return await self._transport.request(
            method, self._path(path), query=pairs, headers=headers, body=content, timeout=ANSWER_SECONDS
        )

    def _path(self, path: str) -> str:
        return path.replace("{ns}", self._namespace)


class Watch:
    """A watch being read."""

    def __init__(self, stream: Stream | None, record: Record, names: Names) -> None:
        self._lines = _lines(stream) if stream is not None else None
        self._record = record
        self._names = names

    async def take(self, count: int) -> list[Document]:
        """The next events; fewer when no more come."""
        events: list[Document] = []
        while self._lines is not None and len(events) < count:
            try:
                line = await asyncio.wait_for(anext(self._lines), EVENT_SECONDS)
            except (TimeoutError, StopAsyncIteration):
                self._record["events"].append(f"{count - len(events)} more events were expected")
                break
            event = json.loads(line)
            events.append(event)
            self._record["events"].append(self._names.event(event))
        return events

    async def end(self) -> None:
        """Read on until the server ends the stream."""
        if self._lines is None:
            return
        try:
            async with asyncio.timeout(EVENT_SECONDS):
                async for line in self._lines:
                    self._record["events"].append(self._names.event(json.loads(line)))
        except TimeoutError:
            self._record["events"].append("the stream goes on")


async def _lines(stream: Stream) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in stream:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")


def _line(method: str, path: str, kind: str, query: Document) -> str:
    """The request as records show it: without what the servers made up in earlier answers."""
    pairs = [(name, _shown(name, str(value))) for name, value in query.items() if name != "watch"]
    shown = "?" + urlencode(pairs, safe="=,:!{}()/ ") if pairs else ""
    return " ".join(part for part in (method, path + shown, kind) if part)


def _shown(name: str, value: str) -> str:
    if name == "continue" and len(value) > 20:
        return "TOKEN"
    return "VERSION" if name == "resourceVersion" and len(value) > 1 and value.isdigit() else value
