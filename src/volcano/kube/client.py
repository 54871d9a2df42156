"""Typed requests to an API server: get, list, watch, create, update, patch, delete, and the pod verbs.

Objects are decoded straight into the resource's own type. Transports carry the bytes; `informer` keeps caches on top.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from volcano.api.meta import JsonObject, ObjectMeta
from volcano.api.resources import PODS, Resource
from volcano.http.message import Response
from volcano.kube.codec import Codec, Listing, WatchEvent, head_of
from volcano.kube.errors import ApiError, Gone, error_from
from volcano.kube.options import Query, delete_options, query_value, selectors
from volcano.kube.pause import pause

if TYPE_CHECKING:
    from volcano.kube.transport import Stream, Transport

__all__ = ["Client", "Listing", "PatchKind", "WatchEvent"]

T = TypeVar("T")
JSON_HEADERS = {"content-type": "application/json", "accept": "application/json"}
READ_HEADERS = {"accept": "application/json"}
ATTEMPTS = 5
LONGEST_RETRY_SECONDS = 30.0


class PatchKind(StrEnum):
    """How the server merges a patch body."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Client:
    """One API server, spoken to as `field_manager`. Every method raises a subclass of `errors.ApiError` on refusal.

    `on_warning` is told what the server remarks about requests, granted or refused.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        user_agent: str = "volcano",
        field_manager: str | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self.transport = transport
        self.on_warning = on_warning
        self.field_manager = field_manager or user_agent.partition("/")[0]
        self._json_headers = {**JSON_HEADERS, "user-agent": user_agent}
        self._read_headers = {**READ_HEADERS, "user-agent": user_agent}
        self._patch_headers = {kind: {**self._json_headers, "content-type": kind.value} for kind in PatchKind}
        self._codecs: dict[Resource[Any], Codec[Any]] = {}

    def over(self, transport: Transport) -> Client:
        """The same client on another transport."""
        other = copy.copy(self)
        other.transport = transport
        return other

    async def close(self) -> None:
        """Close the connections to the server."""
        await self.transport.close()

    # Reading

    async def get(self, resource: Resource[T], name: str, namespace: str | None = None) -> T:
        response = await self._send("GET", resource.path(namespace, name))
        return self._codec(resource).decode(response)

    async def list(
        self,
        resource: Resource[T],
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int = 500,
        *,
        resource_version: str | None = None,
    ) -> Listing[T]:
        """All objects, fetched in pages of `limit` from one snapshot; in one piece when the snapshot expires midway."""
        query = selectors(label_selector, field_selector)
        if limit:
            query.append(("limit", str(limit)))
        if resource_version is not None:
            query.append(("resourceVersion", resource_version))
        codec = self._codec(resource)
        path = resource.path(namespace)
        items: list[T] = []
        page = query
        while True:
            try:
                response = await self._send("GET", path, page)
            except Gone:
                if page is query:
                    raise
                return await self.list(resource, namespace, label_selector, field_selector, limit=0)
            listing, following = codec.decode_list(response)
            items += listing.items
            if not following:
                return Listing(items, listing.resource_version)
            page = [pair for pair in query if pair[0] != "resourceVersion"] + [("continue", following)]

    async def watch(
        self,
        resource: Resource[T],
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        *,
        resource_version: str | None = None,
        send_initial_events: bool = False,
        bookmarks: bool = True,
        timeout_seconds: int | None = None,
        unreadable: Callable[[ObjectMeta], None] | None = None,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Changes as they happen, until the server ends the stream. An ERROR event is raised as its exception.

        With `send_initial_events` the current objects come first, closed by a bookmark that `ends_initial_events`;
        a server without that ability refuses with `Invalid`. Objects that do not decode are left out with a warning;
        `unreadable` is told their heads.
        """
        query = [("watch", "true"), *selectors(label_selector, field_selector)]
        if resource_version is not None:
            query.append(("resourceVersion", resource_version))
        if bookmarks:
            query.append(("allowWatchBookmarks", "true"))
        if send_initial_events:
            query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
        if timeout_seconds is not None:
            query.append(("timeoutSeconds", str(timeout_seconds)))
        codec = self._codec(resource)
        async with self._stream("GET", resource.path(namespace), query) as stream:
            await raise_for_stream(stream)
            async with aclosing(lines(stream)) as batches:
                async for batch in batches:
                    for line in batch:
                        event = codec.decode_event(line, unreadable)
                        if event is not None:
                            yield event

    async def logs(
        self,
        namespace: str,
        name: str,
        *,
        container: str | None = None,
        follow: bool = False,
        previous: bool = False,
        tail_lines: int | None = None,
        since_seconds: int | None = None,
        timestamps: bool = False,
        limit_bytes: int | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """A container's log in chunks as they arrive; with `follow` until the container ends."""
        options = {
            "container": container,
            "follow": follow or None,
            "previous": previous or None,
            "tailLines": tail_lines,
            "sinceSeconds": since_seconds,
            "timestamps": timestamps or None,
            "limitBytes": limit_bytes,
        }
        query = [(key, query_value(value)) for key, value in options.items() if value is not None]
        async with self._stream("GET", PODS.path(namespace, name, "log"), query) as stream:
            await raise_for_stream(stream)
            async for chunk in stream:
                yield chunk

    # Writing

    async def create(
        self,
        resource: Resource[T],
        obj: T | JsonObject,
        namespace: str | None = None,
        dry_run: bool = False,
        *,
        strict: bool = False,
    ) -> T:
        """Add an object; with `strict` the server refuses fields that it does not know instead of dropping them."""
        codec = self._codec(resource)
        path = resource.path(namespace or head_of(obj).namespace or None)
        query = self._options(dry_run)
        if strict:
            query.append(("fieldValidation", "Strict"))
        return codec.decode(await self._send("POST", path, query, codec.encode(obj)))

    async def update(
        self, resource: Resource[T], obj: T | JsonObject, subresource: str | None = None, *, dry_run: bool = False
    ) -> T:
        """Replace the object; with `metadata.resourceVersion` set, only when it has not changed since."""
        codec = self._codec(resource)
        head = head_of(obj)
        path = resource.path(head.namespace or None, head.name, subresource)
        return codec.decode(await self._send("PUT", path, self._options(dry_run), codec.encode(obj)))

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        body: object,
        namespace: str | None = None,
        *,
        kind: PatchKind = PatchKind.MERGE,
        subresource: str | None = None,
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> T:
        """Change part of an object. `body` is a patch document, or bytes that are one."""
        query = self._options(dry_run, field_manager)
        if force:
            query.append(("force", "true"))
        payload = body if isinstance(body, bytes) else msgspec.json.encode(body)
        path = resource.path(namespace, name, subresource)
        response = await self._send("PATCH", path, query, payload, self._patch_headers[kind])
        return self._codec(resource).decode(response)

    async def apply(
        self,
        resource: Resource[T],
        obj: T | JsonObject,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        field_manager: str | None = None,
        force: bool = True,
        dry_run: bool = False,
    ) -> T:
        """Server-side apply: create the object or make the given fields ours."""
        head = head_of(obj)
        return await self.patch(
            resource,
            head.name,
            self._codec(resource).encode(obj),
            namespace or head.namespace or None,
            kind=PatchKind.APPLY,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
        )

    async def delete(
        self,
        resource: Resource[Any],
        name: str,
        namespace: str | None = None,
        *,
        grace_seconds: int | None = None,
        propagation: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete an object; `uid` and `resource_version` are preconditions."""
        body = delete_options(grace_seconds, propagation, uid, resource_version, dry_run=dry_run)
        await self._send("DELETE", resource.path(namespace, name), (), body)

    async def delete_collection(
        self,
        resource: Resource[Any],
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        *,
        grace_seconds: int | None = None,
        propagation: str | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete every object that matches."""
        body = delete_options(grace_seconds, propagation, None, None, dry_run=dry_run)
        query = selectors(label_selector, field_selector)
        await self._send("DELETE", resource.path(namespace), query, body)

    async def bind(
        self,
        pod_namespace: str,
        pod_name: str,
        uid: str | None,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Assign a pod to a node; `uid` guards against a pod that was recreated under the same name."""
        metadata: JsonObject = {"name": pod_name, "namespace": pod_namespace}
        if uid:
            metadata["uid"] = uid
        if annotations:
            metadata["annotations"] = dict(annotations)
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self._send("POST", PODS.path(pod_namespace, pod_name, "binding"), (), msgspec.json.encode(binding))

    async def evict(
        self, namespace: str, name: str, *, uid: str | None = None, grace_seconds: int | None = None
    ) -> None:
        """Evict a pod; disruption budgets may refuse with `TooManyRequests`."""
        eviction: JsonObject = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
        }
        body = delete_options(grace_seconds, None, uid, None)
        if body is not None:
            eviction["deleteOptions"] = msgspec.Raw(body)
        await self._send("POST", PODS.path(namespace, name, "eviction"), (), msgspec.json.encode(eviction))

    # Plumbing

    async def raw(
        self, method: str, path: str, query: Sequence[tuple[str, str]] = (), body: bytes | None = None
    ) -> Response:
        """Any other request with the client's credentials; refusals raise as everywhere."""
        return await self._send(method, path, query, body)

    def _codec(self, resource: Resource[T]) -> Codec[T]:
        codec = self._codecs.get(resource)
        if codec is None:
            codec = self._codecs[resource] = Codec(resource)
        return codec

    def _options(self, dry_run: bool, field_manager: str | None = None) -> Query:
        query = [("fieldManager", field_manager or self.field_manager)]
        if dry_run:
            query.append(("dryRun", "All"))
        return query

    def _stream(self, method: str, path: str, query: Sequence[tuple[str, str]]) -> AbstractAsyncContextManager[Stream]:
        return self.transport.stream(method, path, query=query, headers=self._read_headers)

    async def _send(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        if headers is None:
            headers = self._read_headers if body is None else self._json_headers
        for attempt in range(ATTEMPTS):
            response = await self.transport.request(method, path, query=query, headers=headers, body=body)
            warnings = self._warnings(response)
            if response.status < 400:
                return response
            error = error_from(response.status, response.content, response.headers)
            error.warnings = warnings
            seconds = retry_delay(method, path, error)
            if seconds is None or attempt == ATTEMPTS - 1:
                break
            await pause(seconds)
        raise error

    def _warnings(self, response: Response) -> Sequence[str]:
        """What the server remarks; whoever wants to know is told."""
        if "warning" not in response.headers:
            return ()
        from volcano.kube.warning_headers import parse_warnings

        warnings = parse_warnings(response.headers["warning"])
        if self.on_warning is not None:
            for warning in warnings:
                self.on_warning(warning)
        return warnings


def retry_delay(method: str, path: str, error: ApiError) -> float | None:
    """How long to wait before asking again, or None when the refusal is the answer.

    A busy server (429) has done nothing, so anything may be repeated, except evictions: there 429 is the verdict of
    a disruption budget. A failing one (5xx) is asked again when it says so, or for reading.
    """
    if error.status == 429 and not path.endswith("/eviction"):
        return min(1.0 if error.retry_after is None else error.retry_after, LONGEST_RETRY_SECONDS)
    if error.status >= 500 and error.retry_after is not None and method in ("GET", "PUT", "DELETE"):
        return min(error.retry_after, LONGEST_RETRY_SECONDS)
    if error.status in (502, 503, 504) and method == "GET":
        return 0.5
    return None


async def raise_for_stream(stream: Stream) -> None:
    if stream.status >= 400:
        raise error_from(stream.status, await stream.read(), stream.headers)


async def lines(stream: Stream) -> AsyncGenerator[list[bytes], None]:
    """The complete lines of a stream, as many together as have arrived."""
    rest = b""
    async for chunk in stream:
        *complete, rest = (rest + chunk if rest else chunk).split(b"\n")
        yield [line for line in complete if line]
