"""How objects are written out: JSON as stored, Tables for kubectl, metadata only. Chosen by the Accept header.

Used by reads (get, list) and by watches, whose lines are shared by all watchers with the same encoding.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver.status import StatusError
from volcano.local.apiserver.strategies.events import from_core

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from volcano.http.message import Request
    from volcano.local.apiserver.catalog.registry import ResourceInfo
    from volcano.local.apiserver.storage.entries import Entry

INITIAL_EVENTS_END = "k8s.io/initial-events-end"

_encode = msgspec.json.encode


class Encoding(Protocol):
    """One representation of a resource's objects."""

    content_type: str

    @property
    def key(self) -> Hashable:
        """Watchers whose encodings have equal keys share lines."""

    def single(self, document: bytes) -> bytes: ...

    def listing(self, entries: Sequence[Entry], metadata: JsonObject) -> bytes: ...

    def line(self, kind: str, entry: Entry) -> bytes: ...

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes: ...


class JsonEncoding:
    """Objects as they are stored."""

    content_type = "application/json"
    key: Hashable = "json"

    def __init__(self, resource: ResourceInfo) -> None:
        self._resource = resource

    def single(self, document: bytes) -> bytes:
        return document

    def listing(self, entries: Sequence[Entry], metadata: JsonObject) -> bytes:
        resource = self._resource
        head = f'{{"kind":"{resource.list_kind}","apiVersion":"{resource.api_version}","metadata":'
        bodies = [entry.body for entry in entries]
        if not resource.custom:  # items of built-in kinds are known by their list
            name = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'.encode()
            bodies = [b"{" + body.removeprefix(name) if body.startswith(name) else body for body in bodies]
        return b"".join((head.encode(), _encode(metadata), b',"items":[', b",".join(bodies), b"]}\n"))

    def line(self, kind: str, entry: Entry) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), entry.body)

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        document = {"kind": self._resource.kind, "apiVersion": self._resource.api_version}
        return _bookmark(document, revision, initial_end=initial_end)


class EventEncoding(JsonEncoding):
    """Events as `events.k8s.io/v1` writes them; they are stored as core/v1."""

    key: Hashable = "events.k8s.io"

    def single(self, document: bytes) -> bytes:
        return _encode(from_core(msgspec.json.decode(document)))

    def listing(self, entries: Sequence[Entry], metadata: JsonObject) -> bytes:
        kind, api_version = self._resource.list_kind, self._resource.api_version
        items = [from_core(entry.document()) for entry in entries]
        return _encode({"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items})

    def line(self, kind: str, entry: Entry) -> bytes:
        return _encode({"type": kind, "object": from_core(entry.document())}) + b"\n"


class VersionEncoding(JsonEncoding):
    """Objects of a user's kind that are kept in another version: the same fields, called by this one."""

    def __init__(self, resource: ResourceInfo) -> None:
        super().__init__(resource)
        self.key: Hashable = ("version", resource.api_version)

    def single(self, document: bytes) -> bytes:
        return _encode(self._shown(document))

    def listing(self, entries: Sequence[Entry], metadata: JsonObject) -> bytes:
        kind, api_version = self._resource.list_kind, self._resource.api_version
        items = [self._shown(entry.body) for entry in entries]
        return _encode({"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items})

    def line(self, kind: str, entry: Entry) -> bytes:
        return _encode({"type": kind, "object": self._shown(entry.body)}) + b"\n"

    def _shown(self, body: bytes) -> JsonObject:
        document: JsonObject = msgspec.json.decode(body)
        return document | {"apiVersion": self._resource.api_version}


class MetadataEncoding:
    """`PartialObjectMetadata`: identity, labels and annotations without the rest."""

    content_type = "application/json"

    def __init__(self, version: str) -> None:
        self._api_version = f"meta.k8s.io/{version}"
        self.key: Hashable = ("metadata", version)

    def _partial(self, body: bytes) -> JsonObject:
        metadata = msgspec.json.decode(body)["metadata"]
        return {"kind": "PartialObjectMetadata", "apiVersion": self._api_version, "metadata": metadata}

    def single(self, document: bytes) -> bytes:
        return _encode(self._partial(document))

    def listing(self, entries: Sequence[Entry], metadata: JsonObject) -> bytes:
        items = [self._partial(entry.body) for entry in entries]
        kind = "PartialObjectMetadataList"
        return _encode({"kind": kind, "apiVersion": self._api_version, "metadata": metadata, "items": items})

    def line(self, kind: str, entry: Entry) -> bytes:
        return _encode({"type": kind, "object": self._partial(entry.body)}) + b"\n"

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        document = {"kind": "PartialObjectMetadata", "apiVersion": self._api_version}
        return _bookmark(document, revision, initial_end=initial_end)


class TableEncoding:
    """What `kubectl get` shows: columns and cells."""

    content_type = "application/json"

    def __init__(self, resource: ResourceInfo, version: str, include: str) -> None:
        from volcano.local.apiserver.wire.printers import printer_for

        columns = None
        if resource.custom:
            columns = [
                {"name": item.name, "type": item.type, "jsonPath": item.json_path, "priority": item.priority}
                for item in resource.resource.columns
            ]
        self._printer = printer_for(resource.group, resource.plural, columns)
        self._version = version
        self._include = include
        self.key: Hashable = ("table", version, include)

    def _table(self, documents: list[JsonObject], metadata: JsonObject) -> JsonObject:
        from volcano.local.apiserver.wire.tables import render_table

        now = datetime.now(UTC)
        return render_table(self._printer, documents, self._include, now, version=self._version, metadata=metadata)

    def single(self, document: bytes) -> bytes:
        decoded = msgspec.json.decode(document)
        revision = decoded["metadata"].get("resourceVersion", "")
        return _encode(self._table([decoded], {"resourceVersion": revision}))

    def listing(self, entries: Sequence[Entry], metadata: JsonObject) -> bytes:
        return _encode(self._table([entry.document() for entry in entries], metadata))

    def line(self, kind: str, entry: Entry) -> bytes:
        table = self._table([entry.document()], {"resourceVersion": str(entry.revision)})
        return _encode({"type": kind, "object": table}) + b"\n"

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        table = self._table([], {"resourceVersion": str(revision)})
        if initial_end:
            table["metadata"]["annotations"] = {INITIAL_EVENTS_END: "true"}
        return _encode({"type": "BOOKMARK", "object": table}) + b"\n"


def choose(resource: ResourceInfo, request: Request) -> Encoding:
    """The first representation of `resource` that the client accepts; 406 if there is none."""
    for kind, version in _acceptable(request.headers.get("accept", "")):
        if kind == "table":
            return TableEncoding(resource, version, request.param("includeObject") or "Metadata")
        if kind == "metadata":
            return MetadataEncoding(version)
        if resource.group == "events.k8s.io":
            return EventEncoding(resource)
        return VersionEncoding(resource) if resource.several_versions else JsonEncoding(resource)
    raise StatusError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, "
        "application/json;as=Table;v=v1;g=meta.k8s.io, application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    )


@lru_cache(maxsize=256)
def _acceptable(accept: str) -> tuple[tuple[str, str], ...]:
    found = []
    for part in (accept or "*/*").split(","):
        media, *parameters = (word.strip() for word in part.split(";"))
        if media not in ("application/json", "application/*", "*/*"):
            continue
        options = dict(word.partition("=")[::2] for word in parameters)
        shape, version = options.get("as", ""), options.get("v", "v1")
        if shape and (options.get("g") != "meta.k8s.io" or version not in ("v1", "v1beta1")):
            continue
        if shape == "Table":
            found.append(("table", version))
        elif shape in ("PartialObjectMetadata", "PartialObjectMetadataList"):
            found.append(("metadata", version))
        elif not shape:
            found.append(("json", ""))
    return tuple(found)


def _bookmark(document: JsonObject, revision: int, *, initial_end: bool) -> bytes:
    metadata: JsonObject = {"resourceVersion": str(revision)}
    if initial_end:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    return _encode({"type": "BOOKMARK", "object": document | {"metadata": metadata}}) + b"\n"
