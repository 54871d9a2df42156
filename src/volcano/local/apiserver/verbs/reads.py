"""Get, list and watch: revisions, pages, selectors. Reads see only what is durable."""

from __future__ import annotations

import asyncio
import base64
import binascii
import random
from itertools import chain, islice
from typing import TYPE_CHECKING

import msgspec

from volcano.api.meta import JsonObject
from volcano.http.message import Response
from volcano.local.apiserver import status
from volcano.local.apiserver.storage.store import Compacted
from volcano.local.apiserver.verbs.selection import Selection
from volcano.local.apiserver.verbs.watch import WatchStream
from volcano.local.apiserver.wire.encodings import choose

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from volcano.http.message import Request
    from volcano.local.apiserver.catalog.registry import ResourceInfo
    from volcano.local.apiserver.storage.entries import Entry
    from volcano.local.apiserver.storage.store import Store
    from volcano.local.apiserver.wire.encodings import Encoding

FUTURE_WAIT_SECONDS = 3.0
_MOST = 2**31 - 1
_DIGITS = 20


class Reads:
    """The read side of every stored resource."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, resource: ResourceInfo, namespace: str | None, name: str, request: Request) -> Response:
        encoding = choose(resource, request)
        await self._reach(_revision(request))
        entry = self._store.get(resource.storage, resource.key(namespace, name))
        if entry is None:
            raise status.not_found(resource, name)
        return respond(200, encoding.single(entry.body))

    async def list(self, resource: ResourceInfo, namespace: str | None, request: Request) -> Response:
        encoding = choose(resource, request)
        selection = Selection(resource, namespace, request)
        page = Page.of(request)
        await self._reach(page.not_older_than)
        try:
            entries, metadata = self._page(resource, selection, page)
        except Compacted as error:
            raise self._expired(page, error) from None
        return respond(200, encoding.listing(entries, metadata))

    async def watch(self, resource: ResourceInfo, namespace: str | None, request: Request) -> Response:
        encoding = choose(resource, request)
        selection = Selection(resource, namespace, request)
        want = WatchStart.of(request)
        await self._reach(want.revision)
        stream = WatchStream(
            self._store,
            self._store.collection(resource.storage),
            selection,
            encoding,
            timeout_seconds=_timeout(request),
            bookmarks=request.flag("allowWatchBookmarks"),
        )
        self._start(stream, resource, selection, encoding, want)
        return Response(200, {"content-type": encoding.content_type, "cache-control": "no-cache, private"}, stream)

    def close(self) -> None:
        """End all watches."""
        for collection in self._store.collections():
            for listener in tuple(collection.listeners):
                listener.end()

    def _start(
        self,
        stream: WatchStream,
        resource: ResourceInfo,
        selection: Selection,
        encoding: Encoding,
        want: WatchStart,
    ) -> None:
        store = self._store
        if not want.state:
            try:
                stream.start(iter(()), store.since(resource.storage, want.revision or store.durable))
            except Compacted as error:
                raise status.expired(str(error)) from None
            return
        # Materialised: what is sent later must still be the state of this moment.
        entries = [entry for entry in store.scan(resource.storage, selection.prefix) if selection(entry)]
        lines: Iterator[bytes] = (encoding.line("ADDED", entry) for entry in entries)
        if want.initial_end:
            lines = chain(lines, [encoding.bookmark(store.durable, initial_end=True)])
        stream.start(lines, [])

    def _page(self, resource: ResourceInfo, selection: Selection, page: Page) -> tuple[Sequence[Entry], JsonObject]:
        revision = self._store.durable if page.revision is None else page.revision
        entries = self._matching(resource, selection, page, revision)
        metadata: JsonObject = {"resourceVersion": str(revision)}
        if not page.limit:
            return list(entries), metadata
        found = list(islice(entries, page.limit + 1))
        if len(found) <= page.limit:
            return found, metadata
        found.pop()
        metadata["continue"] = _token(revision, found[-1].key)
        if selection.everything:
            after = found[-1].key
            metadata["remainingItemCount"] = self._store.remaining(resource.storage, selection.prefix, after, revision)
        return found, metadata

    def _matching(self, resource: ResourceInfo, selection: Selection, page: Page, revision: int) -> Iterator[Entry]:
        name = selection.name
        if name is not None and revision == self._store.durable and (selection.prefix or not resource.namespaced):
            entry = self._store.get(resource.storage, selection.prefix + name)
            return iter([entry] if entry is not None and selection(entry) else [])
        entries = self._store.scan(resource.storage, selection.prefix, page.after, revision)
        return entries if selection.everything else filter(selection, entries)

    def _expired(self, page: Page, error: Compacted) -> status.StatusError:
        if not page.after:
            return status.expired(str(error))
        fault = status.expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list "
            "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
            "the results. Continuing with the provided token results in an inconsistent list - objects that were "
            "created, modified, or deleted between the time the first chunk was returned and now may show up in the "
            "list."
        )
        fault.metadata = {"continue": _token(-1, page.after)}
        return fault

    async def _reach(self, revision: int | None) -> None:
        """Wait a little for a revision from the future; a client may have seen another server's."""
        if revision is None or revision <= self._store.durable:
            return
        deadline = asyncio.get_running_loop().time() + FUTURE_WAIT_SECONDS
        while self._store.durable < revision:
            if asyncio.get_running_loop().time() > deadline:
                raise status.from_the_future(revision, self._store.durable)
            await asyncio.sleep(0.05)


class Page(msgspec.Struct, frozen=True):
    """What a list asks for."""

    limit: int = 0
    after: str = ""
    revision: int | None = None  # exactly this one
    not_older_than: int | None = None

    @classmethod
    def of(cls, request: Request) -> Page:
        if request.param("sendInitialEvents") is not None:
            raise _forbidden_option("sendInitialEvents", "sendInitialEvents is forbidden for list")
        limit = _integer(request, "limit")
        revision, match = _revision(request), request.param("resourceVersionMatch") or ""
        token = request.param("continue") or ""
        _check_match(revision if request.param("resourceVersion") else None, match, bool(token))
        if token:
            if revision:
                raise status.bad_request("specifying resource version is not allowed when using continue")
            at, after = _read_token(token)
            return cls(limit, after, None if at < 0 else at)
        if match == "Exact":
            return cls(limit, "", revision, revision)
        return cls(0 if request.param("resourceVersion") == "0" else limit, "", None, revision)


class WatchStart(msgspec.Struct, frozen=True):
    """Where a watch begins."""

    revision: int | None
    state: bool  # begin with the current state as ADDED events
    initial_end: bool  # and say where it ends

    @classmethod
    def of(cls, request: Request) -> WatchStart:
        revision = _revision(request)
        initial, match = request.param("sendInitialEvents"), request.param("resourceVersionMatch") or ""
        if initial is None:
            if match:
                raise _forbidden_option(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                )
            return cls(revision, not revision, False)
        if match != "NotOlderThan":
            raise _forbidden_option(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )
        wanted = request.flag("sendInitialEvents")
        return cls(revision, wanted, wanted and request.flag("allowWatchBookmarks"))


def respond(code: int, body: bytes, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    common = {"content-type": "application/json", "cache-control": "no-cache, private"}
    return Response(code, common | headers if headers else common, body)


def _forbidden_option(field: str, why: str) -> status.StatusError:
    return status.invalid_option("ListOptions", status.cause(field, f"Forbidden: {why}", "FieldValueForbidden"))


def _check_match(revision: int | None, match: str, continued: bool) -> None:
    if not match:
        return
    if match not in ("Exact", "NotOlderThan"):
        text = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
        cause = status.cause("resourceVersionMatch", text, "FieldValueNotSupported")
        raise status.invalid_option("ListOptions", cause)
    if continued:
        raise _forbidden_option("resourceVersionMatch", "resourceVersionMatch is forbidden with continue")
    if revision is None:
        raise _forbidden_option(
            "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
        )
    if match == "Exact" and revision == 0:
        raise _forbidden_option(
            "resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        )


def _integer(request: Request, name: str) -> int:
    """A query parameter that counts something; 0 when absent or negative."""
    text = request.param(name)
    if not text:
        return 0
    try:
        return min(max(int(text), 0), _MOST)
    except ValueError:
        raise status.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _revision(request: Request) -> int | None:
    text = request.param("resourceVersion")
    if not text:
        return None
    if not text.isdecimal():
        raise _no_revision(text, "invalid syntax")
    if len(text) > _DIGITS:
        raise _no_revision(text, "value out of range")
    return int(text)


def _no_revision(text: str, why: str) -> status.StatusError:
    shown = f'strconv.ParseUint: parsing "{text}": {why}'
    return status.bad_request(f'resourceVersion: Invalid value: "{text}": {shown}')


def _timeout(request: Request) -> float:
    asked = _integer(request, "timeoutSeconds")
    return float(asked) if asked else random.uniform(1800.0, 3600.0)


def _token(revision: int, after: str) -> str:
    document = {"v": "meta.k8s.io/v1", "rv": revision, "start": after}
    return base64.urlsafe_b64encode(msgspec.json.encode(document)).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str]:
    try:
        document = msgspec.json.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        if document["v"] == "meta.k8s.io/v1":
            return int(document["rv"]), str(document["start"])
    except (ValueError, KeyError, TypeError, binascii.Error, msgspec.DecodeError):
        pass
    raise status.bad_request(f"invalid continue token: continue key is not valid: {token[:80]!r}: start a new list")
