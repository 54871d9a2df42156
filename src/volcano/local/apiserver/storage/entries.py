"""Objects and their changes in memory: entries, events, and the sorted collection of one resource with its history.

`store.py` moves collections from revision to revision; reads and watches look into them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from sortedcontainers import SortedDict

from volcano.api.meta import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.local.apiserver.verbs.selection import FieldReader

LAST = chr(0x10FFFF)  # sorts behind every character of a key

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Entry:
    """One object at one revision: its bytes and the little that is needed without decoding them."""

    __slots__ = ("_view", "body", "key", "labels", "revision", "row", "uid")

    def __init__(self, row: int, key: str, revision: int, body: bytes, uid: str, labels: dict[str, str] | None) -> None:
        self.row = row
        self.key = key
        self.revision = revision
        self.body = body
        self.uid = uid
        self.labels = labels
        self._view: tuple[FieldReader, tuple[str, ...]] | None = None

    def document(self) -> JsonObject:
        """A fresh copy of the object, the caller's to change."""
        document: JsonObject = _decode(self.body)
        return document

    def view(self, reader: FieldReader) -> tuple[str, ...]:
        """The few fields that selectors look at, read once."""
        if self._view is None or self._view[0] is not reader:
            self._view = (reader, reader(_decode(self.body)))
        return self._view[1]


class Event:
    """A change of one object: `entry` is the new state (for DELETED: the last state, at the deletion's revision)."""

    __slots__ = ("entry", "kind", "lines", "previous", "revision", "time")

    def __init__(self, kind: str, entry: Entry, previous: Entry | None, when: float) -> None:
        self.kind = kind
        self.entry = entry
        self.previous = previous
        self.revision = entry.revision
        self.time = when
        self.lines: dict[Any, bytes] | None = None  # shared by watchers while the event is told around

    def before(self) -> Entry:
        """The state before the change, at the revision of the change."""
        old = self.previous or self.entry
        document = old.document()
        document["metadata"]["resourceVersion"] = str(self.revision)
        return Entry(old.row, old.key, self.revision, encoded(document), old.uid, old.labels)


class Listener(Protocol):
    """Whoever wants the events of a collection as they become visible."""

    def offer(self, events: list[Event]) -> None: ...

    def end(self) -> None:
        """The store closes: nothing more will come."""


class Collection:
    """All objects of one resource, sorted by key ("namespace/name" or "name"), and their recent history."""

    __slots__ = ("changes", "entries", "floor", "listeners", "log", "name")

    def __init__(self, name: str, floor: int) -> None:
        self.name = name
        self.entries: SortedDict[str, Entry] = SortedDict()
        self.log: deque[Event] = deque()
        self.changes = 0  # how often the newest state changed, undoing included
        self.floor = floor  # watches and lists can start at this revision, not before
        self.listeners: list[Listener] = []

    def keys(self, prefix: str = "", after: str = "") -> Iterator[str]:
        """The newest state's keys that start with `prefix`, beginning behind `after`, in order."""
        first = max(prefix, after)
        keys: Iterator[str] = self.entries.irange(first or None, None, (not after, True))
        if not prefix:
            return keys
        return _while_prefixed(keys, prefix)


def _while_prefixed(keys: Iterator[str], prefix: str) -> Iterator[str]:
    for key in keys:
        if not key.startswith(prefix):
            return
        yield key


def overlaid(collection: Collection, undone: dict[str, Entry | None], prefix: str, after: str) -> Iterator[Entry]:
    """Today's entries with the changes of `undone` taken back, in key order."""
    keys = set(collection.keys(prefix, after))
    keys.update(key for key in undone if key.startswith(prefix) and key > after)
    for key in sorted(keys):
        entry = undone[key] if key in undone else collection.entries[key]
        if entry is not None:
            yield entry


def encoded(document: JsonObject) -> bytes:
    """`document` as it is kept, beginning with its kind and apiVersion, where lists can cut them off."""
    if "kind" in document and next(iter(document)) != "kind":
        document = {"kind": document["kind"], "apiVersion": document.get("apiVersion"), **document}
    return _encode(document)
