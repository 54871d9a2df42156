"""Bytes to typed objects and back, for one resource type: objects, lists and watch lines.

Used by `client`. Decoders are msgspec's and built once per type; one undecodable object never spoils its neighbours.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from volcano.api import keys
from volcano.api.meta import ListMeta, ObjectMeta, PartialObject, Status
from volcano.api.resource import Resource
from volcano.http.message import Response
from volcano.kube.errors import ApiError, error_from_status

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True)
class Listing(Generic[T]):
    """The objects of a list and the version of the world it shows."""

    items: list[T]
    resource_version: str


@dataclass(slots=True)
class WatchEvent(Generic[T]):
    """A change: ADDED, MODIFIED or DELETED with the object, or a BOOKMARK that only carries a resource version."""

    type: str
    object: T
    resource_version: str
    ends_initial_events: bool = False


class Page(msgspec.Struct, Generic[T], gc=False):
    items: list[T] | None = None
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)


class Line(msgspec.Struct, Generic[T], gc=False):
    type: str
    object: T


class Codec(Generic[T]):
    """Encodes and decodes the objects of one resource, as its type (a Struct, or dict for anything)."""

    def __init__(self, resource: Resource[T]) -> None:
        type_ = resource.type
        self._resource = resource
        self._object = msgspec.json.Decoder(type_)
        self._page = msgspec.json.Decoder(Page[type_])  # type: ignore[valid-type]
        self._line = msgspec.json.Decoder(Line[type_])  # type: ignore[valid-type]
        self._encoder = msgspec.json.Encoder()

    def encode(self, obj: object) -> bytes:
        """The object as JSON, with apiVersion and kind filled in: custom resources are refused without them."""
        resource = self._resource
        if isinstance(obj, dict):
            if "kind" not in obj:
                obj = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        elif isinstance(obj, msgspec.Struct) and getattr(obj, "kind", None) == "":
            obj = msgspec.structs.replace(obj, api_version=resource.api_version, kind=resource.kind)
        return self._encoder.encode(obj)

    def decode(self, response: Response) -> T:
        return self._object.decode(response.content)

    def decode_list(self, response: Response) -> tuple[Listing[T], str]:
        """The page's objects and the token of the next page; objects that do not decode are left out with a warning."""
        try:
            page = self._page.decode(response.content)
            items = page.items or []
        except msgspec.ValidationError:
            raw_page = msgspec.json.decode(response.content, type=Page[msgspec.Raw])
            page = raw_page
            items = [item for raw in raw_page.items or [] if (item := self._decode_or_warn(raw)) is not None]
        return Listing(items, page.metadata.resource_version), page.metadata.continue_

    def decode_event(self, line: bytes, unreadable: Callable[[ObjectMeta], None] | None = None) -> WatchEvent[T] | None:
        """The event of a watch line. Raises the exception of an ERROR.

        An object that does not decode gives None and a warning, and its head to `unreadable`.
        """
        try:
            event: Line[T] = self._line.decode(line)
        except msgspec.ValidationError as error:
            raw = msgspec.json.decode(line, type=Line[msgspec.Raw])
            if raw.type == "ERROR":
                raise self._error(raw.object) from None
            if raw.type == "BOOKMARK":
                return _bookmark(msgspec.json.decode(raw.object, type=PartialObject))
            head = self._warn(raw.object, error)
            if unreadable is not None:
                unreadable(head)
            return None
        if event.type == "ERROR":
            raise self._error(msgspec.json.decode(line, type=Line[msgspec.Raw]).object)
        if event.type == "BOOKMARK":
            return _bookmark(event.object)
        return WatchEvent(event.type, event.object, head_of(event.object).resource_version)

    def _error(self, raw: msgspec.Raw) -> ApiError:
        return error_from_status(msgspec.json.decode(raw, type=Status))

    def _decode_or_warn(self, raw: msgspec.Raw) -> T | None:
        try:
            return self._object.decode(raw)
        except msgspec.ValidationError as error:
            self._warn(raw, error)
            return None

    def _warn(self, raw: msgspec.Raw, error: Exception) -> ObjectMeta:
        """Log that an object is left out; its head, as far as that can be read."""
        try:
            head = msgspec.json.decode(raw, type=PartialObject).metadata
        except msgspec.ValidationError:
            head = ObjectMeta()
        log.warning("ignoring %s %s: %s", self._resource.kind, head.key or "without readable metadata", error)
        return head


def _bookmark(obj: Any) -> WatchEvent[Any]:
    """Of a bookmark only the head counts; servers fill the rest with empty fields, some of them of no valid type."""
    metadata = head_of(obj)
    ends = metadata.annotations.get(keys.INITIAL_EVENTS_END) == "true"
    return WatchEvent("BOOKMARK", obj, metadata.resource_version, ends)


def head_of(obj: Any) -> ObjectMeta:
    """The metadata of an object; of an untyped one, what identifies it and its annotations."""
    if not isinstance(obj, dict):
        metadata: ObjectMeta = obj.metadata
        return metadata
    head = obj.get("metadata") or {}
    return ObjectMeta(
        name=head.get("name", ""),
        namespace=head.get("namespace", ""),
        uid=head.get("uid", ""),
        resource_version=head.get("resourceVersion", ""),
        annotations=head.get("annotations") or {},
    )
